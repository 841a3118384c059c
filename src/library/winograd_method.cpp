#include "library/winograd_method.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "library/kernels.h"
#include "library/pack.h"
#include "library/packed_method.h"
#include "support/cache_line.h"
#include "support/rounding.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

constexpr int64_t kWindow = 9;   // elements
constexpr int64_t kPasses = 4;   // rows of the transformed tile
constexpr int64_t kNumbers = 4;  // of a pass, for every tile and channel
constexpr int64_t kPlaces = 4;   // of a tile in the result

/// The picture that windows slide over. Positions begin where the first window does.
struct Picture {
  const unsigned char* data;
  int64_t strides[2];
  int64_t low[2];  ///< positions [low, high) along rows and columns are there
  int64_t high[2];
  const std::vector<ProductAxis>& contracted;

  explicit Picture(const ProductOperand& b)
      : data(static_cast<const unsigned char*>(b.data)), contracted(b.contracted) {
    const size_t first = contracted.size() - 2;  // of the window
    for (size_t axis = 0; axis < 2; ++axis) {
      strides[axis] = b.lines[axis].stride;
      low[axis] = 0;
      high[axis] = b.lines[axis].extent + 2;
      if (contracted[first + axis].stride != strides[axis])
        throw InternalError("windows that do not slide by one");
    }
    for (const ProductBound& bound : b.bounds) {
      const size_t axis = bound.coefficients[0] != 0 ? 0 : 1;
      low[axis] = std::clamp(-bound.offset, low[axis], b.lines[axis].extent + 2);
      high[axis] = std::min(high[axis], bound.extent - bound.offset);
    }
    for (size_t axis = 0; axis < 2; ++axis) high[axis] = std::max(low[axis], high[axis]);
  }

  /// So many channels from a multiple of it on are equally far apart, and how far.
  int64_t run() const { return contracted.size() == 2 ? 1 : contracted[contracted.size() - 3].extent; }
  int64_t channel_stride() const {
    return contracted.size() == 2 ? 0 : contracted[contracted.size() - 3].stride;
  }
  /// Bytes from the first channel to another.
  int64_t offset_of(int64_t channel) const {
    int64_t offset = 0;
    for (size_t axis = contracted.size() - 2; axis-- > 0;) {
      offset += channel % contracted[axis].extent * contracted[axis].stride;
      channel /= contracted[axis].extent;
    }
    return offset;
  }
};

class WinogradMethod final : public ProductMethod {
 public:
  WinogradMethod(ProductType type, int64_t rows, const WindowedPicture& picture, const Cpu& cpu)
      : kernels_(kernels_for(type, cpu)),
        name_(std::string(kernels_.name) + ", Winograd F(2x2, 3x3)"),
        rows_(rows),
        height_(picture.height),
        width_(picture.width),
        channels_(picture.channels),
        tiles_(parts_of(width_, 2)),
        k_block_(k_block_for(channels_, kernels_, cpu)),
        plain_k_block_(k_block_for(kWindow * channels_, kernels_, cpu)),
        plain_{kernels_.rows, kernels_.element_bytes, plain_bytes(kernels_.rows) + kernels_.slack} {
    plain_.panel_bytes = round_up(plain_.panel_bytes, kCacheLine);
    const int64_t panels = parts_of(rows, kernels_.rows);
    rows_at_once_ = parts_of(panels, parts_of(panels * kernels_.rows, kMostRows)) * kernels_.rows;
    tile_rows_ = best_tile_rows();
  }

  /// The time it takes for `batch` pictures, in that of plain sums. Measured in f32 with AVX2: what a product
  /// costs (per row, channel and tile), a tile of a channel, a tile of a row, weights that are packed first,
  /// and weights that come from the last cache for every block, all in units of a product in a plain sum.
  double cost(int64_t batch, int64_t packed_weights, int64_t l2_bytes) const {
    const auto rows = static_cast<double>(rows_), channels = static_cast<double>(channels_);
    const int64_t blocks = parts_of(parts_of(height_, 2), tile_rows_);
    const bool weights_stay = kPasses * kNumbers * number_bytes(rows_) <= l2_bytes / 2;
    const double tiles = static_cast<double>(parts_of(height_, 2) * tiles_);
    const double picture = 14 * rows * channels * static_cast<double>(all_tiles(tile_rows_)) +
                           (270 * channels + 100 * rows) * tiles +
                           (weights_stay ? 0 : 125) * rows * channels * static_cast<double>(blocks);
    const double plain = static_cast<double>(kWindow * height_ * width_) * rows * channels;
    return (picture * static_cast<double>(batch) +
            700 * rows * channels * static_cast<double>(packed_weights)) /
           (plain * static_cast<double>(batch));
  }

  int64_t a_panel() const override { return kernels_.rows; }
  int64_t b_panel() const override { return 2 * width_; }
  int64_t a_panel_bytes() const override {
    return plain_.panel_bytes + round_up(kPasses * kNumbers * number_bytes(kernels_.rows), kCacheLine);
  }
  int64_t b_panel_bytes() const override { return 0; }
  int64_t rows_at_once() const override { return rows_at_once_; }
  int64_t windows_at_once() const override { return tile_rows_ * b_panel(); }
  int64_t scratch_bytes() const override { return 0; }
  const char* name() const override { return name_.c_str(); }

  /// The weights as they are, for what is computed by plain sums, and behind them transformed.
  void pack_a(const ProductOperand& a, int64_t first, int64_t last, void* packed) const override {
    const PackKernels& pack = *kernels_.pack_rows(stored_as(a.dtype));
    auto* panel = static_cast<unsigned char*>(packed);
    for (int64_t i = first; i < last; ++i, panel += a_panel_bytes()) {
      pack_panels(a, pack, plain_, i, i + 1, panel);
      kernels_.winograd->weights(panel, channels_, panel + plain_.panel_bytes);
    }
  }
  void pack_b(const ProductOperand& /*b*/, int64_t /*first*/, int64_t /*last*/,
              void* /*packed*/) const override {
    throw InternalError(name_ + " does not pack windows");
  }
  void multiply(const void* /*a*/, const void* /*b*/, int64_t /*rows*/, int64_t /*columns*/, void* /*c*/,
                int64_t /*row_stride*/, void* /*scratch*/) const override {
    throw InternalError(name_ + " does not multiply packed windows");
  }

  int64_t window_bytes(const ProductOperand& /*b*/, int64_t /*columns*/) const override {
    return Room(*this).bytes;
  }
  void pack_windows(const ProductOperand& /*b*/, int64_t /*first*/, int64_t /*columns*/,
                    void* /*packed*/) const override {}  // what a pass needs is transformed before it
  void multiply_windows(const void* a, const ProductOperand& b, void* packed, int64_t first, int64_t rows,
                        int64_t columns, void* c, int64_t row_stride) const override {
    const Room room(*this);
    const Picture picture(b);
    for (int64_t done = 0; done < columns; done += windows_at_once()) {
      Call call{static_cast<const unsigned char*>(a), b, picture, room, static_cast<unsigned char*>(packed)};
      call.first_row = (first + done) / width_;
      call.height = std::min(2 * tile_rows_, height_ - call.first_row);
      call.height = std::min(call.height, (columns - done) / width_);
      call.rows = rows;
      call.c = static_cast<unsigned char*>(c) + done * kernels_.element_bytes;
      call.c_stride = row_stride;
      run(call);
    }
  }

 private:
  /// Rows of C whose sums are kept until all passes are done, and those whose products are collected at once.
  static constexpr int64_t kMostRows = 132;
  static constexpr int64_t kProductBytes = 64 << 10;
  /// Tiles that are enough for the weights to be used often.
  static constexpr int64_t kMostTiles = 128;
  /// Channels that are transformed together.
  static constexpr int64_t kChannelsAtOnce = 4;

  /// What a call works with, in bytes from the beginning of its memory.
  struct Room {
    int64_t lines, zeros, flat, special, pictures, products, sums, plain_b, plain_c;
    int64_t bytes = 0;

    explicit Room(const WinogradMethod& method) {
      const int64_t element = method.kernels_.element_bytes;
      const int64_t all = method.padded_tiles(method.tile_rows_);
      lines = take(kChannelsAtOnce * method.tile_rows_ * method.line_pitch() * element);
      zeros = take((method.width_ + 2) * element);
      flat = take(kChannelsAtOnce * kNumbers * (all + method.kernels_.lanes) * element);
      special = take(method.tile_rows_);
      pictures = take(kNumbers * all * method.channels_ * element);
      products = take(kNumbers * method.product_rows() * all * element);
      sums = take(kPlaces * method.rows_at_once_ * all * element);
      plain_b = take(method.plain_bytes(method.kernels_.columns));
      plain_c = take(method.rows_at_once_ * method.kernels_.columns * element);
    }
    int64_t take(int64_t size) {
      const int64_t at = bytes;
      bytes += round_up(size, kCacheLine);
      return at;
    }
  };

  /// A block of the result: whole rows of tiles, by rows of C.
  struct Call {
    const unsigned char* a;
    const ProductOperand& b;
    const Picture& picture;
    const Room& room;
    unsigned char* memory;
    int64_t first_row = 0;  ///< of the picture's results
    int64_t height = 0;
    int64_t rows = 0;
    unsigned char* c = nullptr;
    int64_t c_stride = 0;

    int64_t tile_rows() const { return parts_of(height, 2); }
  };

  int64_t plain_bytes(int64_t lines) const { return lines * kWindow * channels_ * kernels_.element_bytes; }
  /// Of one of the 16 numbers of a tile, or of weights: so many of them for every channel.
  int64_t number_bytes(int64_t lines) const { return lines * channels_ * kernels_.element_bytes; }
  /// What is at even places of a line, and at odd ones; registers are filled beyond its end.
  int64_t line_pitch() const { return 2 * (round_up(tiles_, kernels_.lanes) + kernels_.lanes); }
  int64_t padded_tiles(int64_t tile_rows) const { return round_up(tile_rows * tiles_, kernels_.columns); }
  int64_t product_rows() const {
    const int64_t row_bytes = kNumbers * padded_tiles(tile_rows_) * kernels_.element_bytes;
    const int64_t panels = std::max<int64_t>(1, kProductBytes / row_bytes / kernels_.rows);
    return std::min(panels * kernels_.rows, rows_at_once_);
  }

  /// Tiles of a picture, with those that fill up the last panels of so many rows of tiles at a time.
  int64_t all_tiles(int64_t tile_rows) const {
    const int64_t all = parts_of(height_, 2);
    return all / tile_rows * padded_tiles(tile_rows) + padded_tiles(all % tile_rows);
  }

  /// As many rows of tiles as are good at once, or fewer that fill their panels better.
  int64_t best_tile_rows() const {
    const int64_t most = std::clamp<int64_t>(kMostTiles / tiles_, 1, parts_of(height_, 2));
    int64_t best = most;
    for (int64_t rows = most; 2 * rows > most; --rows) {
      if (all_tiles(rows) < all_tiles(best)) best = rows;
    }
    return best;
  }

  void run(const Call& call) const {
    std::memset(call.memory + call.room.lines, 0, static_cast<size_t>(call.room.pictures - call.room.lines));
    for (int pass = 0; pass < kPasses; ++pass) {
      transform_picture(call, pass);
      for (int64_t row = 0; row < call.rows; row += product_rows())
        multiply_rows(call, pass, row, std::min(product_rows(), call.rows - row));
    }
    const int64_t all = padded_tiles(call.tile_rows());
    unsigned char* special = call.memory + call.room.special;
    for (int64_t row = 0; row < call.rows; ++row) {
      kernels_.winograd->result({.sums = call.memory + call.room.sums + row * all * kernels_.element_bytes,
                                 .pitch = call.rows * all,
                                 .tiles = tiles_,
                                 .height = call.height,
                                 .width = width_,
                                 .c = call.c + row * call.c_stride,
                                 .special = special});
    }
    for (int64_t q = 0; q < call.tile_rows(); ++q) {
      if (special[q] != 0) sum_plainly(call, q);
    }
  }

  void transform_picture(const Call& call, int pass) const {
    const int64_t panels = padded_tiles(call.tile_rows()) / kernels_.columns;
    const Picture& picture = call.picture;
    WinogradPicture task{.data = nullptr,
                         .channels = 0,
                         .channel_stride = picture.channel_stride(),
                         .row_stride = picture.strides[0],
                         .column_stride = picture.strides[1],
                         .top = picture.low[0] - call.first_row,
                         .bottom = picture.high[0] - call.first_row,
                         .left = picture.low[1],
                         .right = picture.high[1],
                         .tile_rows = call.tile_rows(),
                         .tiles = tiles_,
                         .zeros = call.memory + call.room.zeros,
                         .lines = call.memory + call.room.lines,
                         .line_pitch = line_pitch(),
                         .flat = call.memory + call.room.flat,
                         .flat_pitch = padded_tiles(call.tile_rows()) + kernels_.lanes,
                         .packed = nullptr,
                         .panel_bytes = number_bytes(kernels_.columns),
                         .panels = panels};
    for (int64_t channel = 0; channel < channels_; channel += task.channels) {
      task.channels = std::min(kChannelsAtOnce, picture.run() - channel % picture.run());
      task.data = picture.data + picture.offset_of(channel) + call.first_row * picture.strides[0];
      task.packed = call.memory + call.room.pictures + channel * kernels_.columns * kernels_.element_bytes;
      kernels_.winograd->picture(task, pass);
    }
  }

  /// The products of a pass for some rows, taken into the sums.
  void multiply_rows(const Call& call, int pass, int64_t row, int64_t rows) const {
    const int64_t all = padded_tiles(call.tile_rows());
    const int64_t row_bytes = all * kernels_.element_bytes;
    unsigned char* products = call.memory + call.room.products;
    MultiplyTask task = task_for(rows, all, channels_, k_block_);
    task.b_panel_bytes = number_bytes(kernels_.columns);
    task.row_stride = row_bytes;
    for (int64_t number = 0; number < kNumbers; ++number) {
      task.a = call.a + row / kernels_.rows * a_panel_bytes() + plain_.panel_bytes +
               (pass * kNumbers + number) * number_bytes(kernels_.rows);
      task.b = call.memory + call.room.pictures + number * all * channels_ * kernels_.element_bytes;
      task.c = products + number * rows * row_bytes;
      kernels_.multiply(task);
    }
    kernels_.winograd->collect(products, rows * all, call.memory + call.room.sums + row * row_bytes,
                               call.rows * all, rows * all, pass);
  }

  /// A row of tiles, by the sums that the method for all products computes.
  void sum_plainly(const Call& call, int64_t tile_row) const {
    const int64_t from = (call.first_row + 2 * tile_row) * width_;
    const int64_t end = (call.first_row + std::min(2 * tile_row + 2, call.height)) * width_;
    const int64_t panel = kernels_.columns;
    unsigned char* packed = call.memory + call.room.plain_b;
    unsigned char* sums = call.memory + call.room.plain_c;
    const PanelLayout layout{kernels_.columns, kernels_.element_bytes, plain_bytes(panel)};
    MultiplyTask task = task_for(call.rows, panel, kWindow * channels_, plain_k_block_);
    task.a = call.a;
    task.b = packed;
    task.b_panel_bytes = layout.panel_bytes;
    task.c = sums;
    task.row_stride = panel * kernels_.element_bytes;
    for (int64_t i = from / panel; i * panel < end; ++i) {
      pack_panels(call.b, *kernels_.pack_columns(stored_as(call.b.dtype)), layout, i, i + 1, packed);
      kernels_.multiply(task);
      const int64_t first = std::max(i * panel, from);
      const int64_t last = std::min((i + 1) * panel, end);
      for (int64_t row = 0; row < call.rows; ++row) {
        std::memcpy(call.c + row * call.c_stride + (first - call.first_row * width_) * kernels_.element_bytes,
                    sums + (row * panel + first - i * panel) * kernels_.element_bytes,
                    static_cast<size_t>((last - first) * kernels_.element_bytes));
      }
    }
  }

  MultiplyTask task_for(int64_t rows, int64_t columns, int64_t k, int64_t k_block) const {
    return {.a = nullptr,
            .b = nullptr,
            .a_panel_bytes = a_panel_bytes(),
            .a_row_bytes = 0,
            .b_panel_bytes = 0,
            .rows = rows,
            .columns = columns,
            .first_k = 0,
            .k = k,
            .k_block = k_block,
            .row_block = round_up(rows, kernels_.rows),
            .column_block = columns,
            .c = nullptr,
            .row_stride = 0,
            .column_stride = kernels_.element_bytes};
  }

  const ProductKernels& kernels_;
  std::string name_;
  int64_t rows_;  ///< of a whole product
  int64_t height_;
  int64_t width_;
  int64_t channels_;
  int64_t tiles_;  ///< of a row
  int64_t k_block_;
  int64_t plain_k_block_;
  PanelLayout plain_;  ///< of weights as they are
  int64_t rows_at_once_;
  int64_t tile_rows_;  ///< that are worked on at once
};

}  // namespace

std::unique_ptr<ProductMethod> winograd_method(ProductType type, int64_t rows, const WindowedPicture& picture,
                                               const Cpu& cpu) {
  return std::make_unique<WinogradMethod>(type, rows, picture, cpu);
}

std::unique_ptr<const ProductMethod> choose_window_method(ProductType type, int64_t rows,
                                                          const WindowedPicture& picture, int64_t batch,
                                                          int64_t packed_a, const Cpu& cpu) {
  constexpr double kWorthwhile = 0.9;
  const bool is_float = type == ProductType::f32 || type == ProductType::f64;
  if (!is_float || std::min({rows, picture.height, picture.width, picture.channels, batch}) < 1)
    return nullptr;
  auto method = std::make_unique<WinogradMethod>(type, rows, picture, cpu);
  if (method->cost(batch, packed_a, cpu.l2_bytes) > kWorthwhile) return nullptr;
  method->choice = {.kind = ProductChoice::Kind::windowed, .type = type, .rows = rows, .picture = picture};
  return method;
}

}  // namespace tokamak

#pragma once

// The inner loops of products, compiled once for every processor level.
//
// The files that implement this are built with instructions the machine may not have. They therefore include
// no header with inline functions (the linker would keep any one of the copies), and everything they define
// is in a namespace of its level. What goes in and out are the plain structures below.

#include <cstdint>

namespace tokamak {

/// The widest panel of any level.
inline constexpr int kMaxPanel = 48;

/// Sums that are added to side by side where the speed of arithmetic is measured: enough to hide how long
/// each takes, and few enough to stay in registers.
inline constexpr int kPeakChains = 12;

/// Reading runs of zeros stands for reading what is not there; a run may be this long.
inline constexpr int64_t kMaxZeroRun = 512;
extern const unsigned char kZeroRun[kMaxZeroRun * 8];

/// Where the lines of C are found, packed, and how to walk over them.
struct MultiplyTask {
  const void* a;
  const void* b;
  int64_t a_panel_bytes;
  int64_t a_row_bytes;  ///< not 0: A is not packed, but rows this far apart
  int64_t b_panel_bytes;
  int64_t rows;
  int64_t columns;
  int64_t first_k;    ///< steps of k before it are not summed
  int64_t k;          ///< nor those from here on
  int64_t k_block;    ///< elements of k summed before they are added to C
  int64_t row_block;  ///< rows and columns of C that are finished together; multiples of their panels
  int64_t column_block;
  void* c;
  int64_t row_stride;           ///< bytes
  int64_t column_stride;        ///< bytes; anything but the size of an element goes through a buffer
  bool add = false;             ///< to what C has, which is overwritten otherwise
  bool below_diagonal = false;  ///< tiles that are right of it are left out
  /// Not null: B is not packed. Its columns, which fill panels, lie here next to each other. They are
  /// packed, a few panels at a time, while a first tile is summed, for a block of k at a time. There are rows
  /// for a whole tile, but no more than `row_block`, and the columns of C are not strided.
  const void* b_source = nullptr;
  int64_t b_source_step = 0;  ///< bytes from one step of k to the next
  void* b_packed = nullptr;   ///< room for four panels, or for all
  /// Not null: B is windows, and A is packed. Step k of a column lies so many bytes from its start. Columns
  /// whose starts are neighbours make up runs of `b_run` of them, which fill registers; column 0 is the one
  /// at `b_first` of the first run.
  const int32_t* b_steps = nullptr;
  const int64_t* b_runs = nullptr;  ///< where each run starts, in bytes from `b`
  int64_t b_run = 0;
  int64_t b_first = 0;
};

/// Small products, none of whose operands is packed, and which are equally far apart. Neighbouring columns of
/// B and of C are neighbours in memory; all else is so many bytes apart.
struct SmallTask {
  const unsigned char* a;
  const unsigned char* b;
  unsigned char* c;
  int64_t rows;
  int64_t columns;
  int64_t k;
  int64_t a_row;   ///< from a row to the next
  int64_t a_step;  ///< from a step of k to the next
  int64_t b_step;
  int64_t c_row;
  int64_t count;   ///< of products
  int64_t a_next;  ///< from a product to the next
  int64_t b_next;
  int64_t c_next;
};

/// Lines of a panel that lie at equal distances: lanes [first, first + count).
struct LineRun {
  const unsigned char* data;  ///< where lane 0 would lie at k = 0, were it part of the run
  int first;
  int count;
};

/// One element of k: how far it is from k = 0 and, for every run of lines, the lanes [low, high) that are
/// there.
struct RunStep {
  int64_t offset;
  const uint8_t* low;
  const uint8_t* high;
  bool whole;  ///< one run that fills the panel, all of it there
};

/// A panel of runs of lines `line_stride` bytes apart: `steps` of k, and all of them again `repeats` times,
/// each `repeat_stride` bytes further on in memory and `packed_stride` in the panel.
struct RunTask {
  const LineRun* runs;
  int run_count;
  int64_t line_stride;
  const RunStep* steps;
  int64_t step_count;
  int64_t repeats;
  int64_t repeat_stride;
  int64_t packed_stride;
  int64_t offset;
};

/// Packs panels of P lines: element k of line j goes to packed[k * P + j].
struct PackKernels {
  /// Neighbouring lines are neighbours in memory: `count` steps of k, `stride` bytes apart, for several
  /// panels. May write up to `slack` bytes past the end of each.
  void (*copy)(const unsigned char* data, int64_t count, int64_t stride, int64_t panels, int64_t panel_bytes,
               unsigned char* packed);
  /// The same for a panel that only has `lines` lines; zeros become the others.
  void (*copy_part)(const unsigned char* data, int lines, int64_t count, int64_t stride,
                    unsigned char* packed);
  /// Neighbouring steps of k are neighbours in memory: `count` of them from each of P lines. May write
  /// up to `slack` bytes past the end.
  void (*transpose)(const unsigned char* const* lines, int64_t count, unsigned char* packed);
  /// Nothing is next to anything.
  void (*gather)(const unsigned char* const* lines, int valid, int64_t count, int64_t stride,
                 unsigned char* packed);
  /// Runs of lines, parts of which may be missing.
  void (*copy_runs)(const RunTask& task, unsigned char* packed);
  /// Neighbours that stay neighbours: they are converted.
  void (*convert)(const unsigned char* data, int64_t count, unsigned char* to);
};

/// How elements lie in memory, as far as packing cares: b32 and b64 are integers of either sign.
enum class Stored : uint8_t { f32, bf16, f16, f64, u8, i8, u16, i16, b32, b64 };

/// Products of a vector of k elements with lines of a matrix. `stride` is the distance in bytes from one line
/// to the next where the elements of a line are neighbours, and from one element of the lines to the next
/// where the lines are.
struct VectorKernels {
  using Loop = void (*)(const void* a, const unsigned char* data, int64_t stride, int64_t lines, int64_t k,
                        void* c);
  Loop along_k;
  Loop along_lines;
};

/// Channels of a picture, as a block of tiles sees them: see winograd_method.h. Positions are counted from
/// the first that the block needs.
struct WinogradPicture {
  const unsigned char* data;  ///< where position (0, 0) of the first channel would be
  int64_t channels;
  int64_t channel_stride;  ///< bytes
  int64_t row_stride;
  int64_t column_stride;
  int64_t top;  ///< rows [top, bottom) and columns [left, right) are there; zeros are around them
  int64_t bottom;
  int64_t left;
  int64_t right;
  int64_t tile_rows;
  int64_t tiles;        ///< of a row
  const void* zeros;    ///< a row of them
  void* lines;          ///< room for a line of every row of tiles and channel: zeros outside [left, right)
  int64_t line_pitch;   ///< elements from one to the next
  void* flat;           ///< room for four numbers of every tile and channel
  int64_t flat_pitch;   ///< elements from the first numbers of all tiles to the second
  void* packed;         ///< the first channel in panels of tiles, for the first of the four numbers
  int64_t panel_bytes;  ///< from a panel to the next
  int64_t panels;       ///< so many for each of the numbers
};

/// One row of C, and what it is made of: four numbers of every tile, one for each place of it in C.
struct WinogradResult {
  const void* sums;
  int64_t pitch;   ///< elements from those for one place to those for the next
  int64_t tiles;   ///< of a row
  int64_t height;  ///< rows and columns of the result
  int64_t width;
  void* c;
  uint8_t* special;  ///< by row of tiles: set where a result is infinite or no number
};

/// The transforms of winograd_method.h, a pass at a time: four of the 16 numbers of a tile.
struct WinogradKernels {
  /// A packed panel of A, whose k are channels by 3x3, as 16 panels of as many channels.
  void (*weights)(const void* packed, int64_t channels, void* transformed);
  void (*picture)(const WinogradPicture& picture, int pass);
  /// Takes the products of a pass, `count` of each of four, `pitch` elements apart, into the four sums.
  void (*collect)(const void* products, int64_t pitch, void* sums, int64_t sums_pitch, int64_t count,
                  int pass);
  void (*result)(const WinogradResult& result);
};

/// Packing of steps of k in pairs: see pairs.inc.
struct PairKernels {
  /// Columns that are neighbours in memory, in as many panels as they take: `count` elements of k, `stride`
  /// bytes apart. Zeros fill the last panel.
  void (*copy_columns)(const unsigned char* data, int64_t columns, int64_t count, int64_t stride,
                       int64_t panel_bytes, unsigned char* packed);
  /// Makes pairs of the `count` elements of k of a panel that was packed element by element. Where one is
  /// left, its other half is zero.
  void (*pair_rows)(unsigned char* packed, int64_t count);
  void (*pair_columns)(unsigned char* packed, int64_t count);
  // Not null where panels are those of tiles.inc:
  /// A panel of A whose elements of k are neighbours in memory: `count` of them from each of `rows`, which
  /// are `stride` bytes apart.
  void (*copy_rows)(const unsigned char* data, int64_t rows, int64_t count, int64_t stride,
                    unsigned char* packed) = nullptr;
  /// Make them of panels that were packed pair by pair.
  void (*finish_rows)(unsigned char* packed, int64_t pairs) = nullptr;
  void (*finish_columns)(unsigned char* packed, int64_t pairs) = nullptr;
};

/// The loops of one level and type. Panels of A have `rows` lines, panels of B `columns`.
struct ProductKernels {
  int rows;
  int columns;
  int lanes;          ///< of a register
  int element_bytes;  ///< of a step of k, and of C
  int64_t slack;      ///< bytes behind a panel that packing may overwrite
  const char* name;
  void (*multiply)(const MultiplyTask& task);
  void (*multiply_small)(const SmallTask& task);
  /// Null where `stored` does not convert to the type.
  const PackKernels* (*pack_rows)(Stored stored);
  const PackKernels* (*pack_columns)(Stored stored);
  const VectorKernels* (*vector)(Stored stored);
  /// The largest magnitude of `count` floats, infinity if any is NaN; null for integers.
  double (*largest)(const void* data, int64_t count);
  /// Does 2 * kPeakChains * lanes operations a round, in registers; null for tiles.
  double (*multiply_and_add)(int64_t rounds);
  const WinogradKernels* winograd;     ///< null for integers
  const PairKernels* pairs = nullptr;  ///< not null: a step of k is two elements of bf16, and C is f32
  int row_unit = 1;                    ///< so many rows are computed together, as `lanes` columns are
  int step_unit = 1;                   ///< panels have a multiple of so many steps, filled up with zeros
};

/// The order of ProductType: f32, f64, i32, i64. There is no bf16 of every level.
struct LevelKernels {
  ProductKernels types[4];
};

extern const LevelKernels kKernelsX86_64;
extern const LevelKernels kKernelsX86_64V3;
extern const LevelKernels kKernelsX86_64V4;
/// For x86-64-v4 with AVX512_BF16.
extern const ProductKernels kKernelsBf16Pairs;
/// For x86-64-v4 with AVX512_BF16 and AMX_BF16, by threads of a process that may use tiles (see
/// Cpu::amx_bf16).
extern const ProductKernels kKernelsBf16Tiles;

}  // namespace tokamak

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/text.h"
#include "ir/text_lexer.h"
#include "ir/text_literal.h"

namespace tokamak {
namespace {

constexpr size_t kMaxRank = 64;  // as NumPy

template <class Enum>
std::optional<Enum> named(std::string_view name, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

/// Whether the elements can be counted and addressed; extents of 0 do not excuse the others.
bool is_countable(const TensorType& type) {
  uint64_t bytes = size_of(type.dtype);
  for (int64_t extent : type.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(std::max<int64_t>(extent, 1)), &bytes))
      return false;
  }
  return bytes <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

/// Recursive descent without the recursion: nothing in the grammar nests.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text, file) { advance(); }

  std::vector<Graph> file() {
    std::vector<Graph> graphs;
    std::unordered_set<std::string> names;
    do {
      const Token start = token_;
      graphs.push_back(function());
      if (!names.insert(graphs.back().name()).second) {
        fail(start, "there are two functions named @" + written_name(graphs.back().name()));
      }
    } while (token_.kind != Token::Kind::end);
    return graphs;
  }

 private:
  /// An operand: a value, or a literal waiting for its dtype.
  struct Operand {
    Token token;
    std::optional<Value> value;
    LiteralText literal;
  };

  // Tokens

  void advance() { token_ = lexer_.next(); }

  Token take() {
    Token token = std::move(token_);
    advance();
    return token;
  }

  [[noreturn]] void fail(const Token& at, const std::string& message,
                         UserError::Kind kind = UserError::Kind::value) const {
    throw UserError(message, lexer_.location_of(at), kind);
  }

  [[noreturn]] void expected(const std::string& what) const {
    fail(token_, "expected " + what + ", found " +
                     (token_.kind == Token::Kind::end ? "the end of the text" : shown(token_.text)));
  }

  bool accept(char punctuation) {
    if (!token_.is(punctuation)) return false;
    advance();
    return true;
  }

  void expect(char punctuation) {
    if (!accept(punctuation)) expected(std::string("'") + punctuation + "'");
  }

  Token expect(Token::Kind kind, const std::string& what) {
    if (token_.kind != kind) expected(what);
    return take();
  }

  /// `element` until `close`, separated by commas.
  template <class Element>
  void list(char close, Element element) {
    if (accept(close)) return;
    do {
      element();
    } while (accept(','));
    if (!accept(close)) expected(std::string("',' or '") + close + "'");
  }

  // Types and attributes

  int64_t integer() {
    const Token token = expect(Token::Kind::number, "an integer");
    int64_t value = 0;
    const std::string problem =
        store_literal({token.text, {}}, DType::i64, reinterpret_cast<std::byte*>(&value));
    if (!problem.empty()) fail(token, problem);
    return value;
  }

  Ints integers() {
    expect('[');
    Ints values;
    list(']', [&] { values.push_back(integer()); });
    return values;
  }

  DType dtype() {
    const Token token = expect(Token::Kind::word, "a dtype such as f32");
    const std::optional<DType> dtype = dtype_named(token.text);
    if (!dtype) fail(token, shown(token.text) + " is not a dtype", UserError::Kind::type);
    return *dtype;
  }

  TensorType type() {
    const Token start = token_;
    TensorType type{dtype(), {}};
    if (!token_.is('[')) expected("a shape such as [4,8]");
    type.shape = integers();
    if (type.shape.size() > kMaxRank) {
      fail(start, "a shape has at most " + std::to_string(kMaxRank) + " axes");
    }
    for (int64_t extent : type.shape) {
      if (extent < 0) fail(start, "an extent is negative in " + to_string(type));
    }
    if (!is_countable(type)) fail(start, to_string(type) + " has more elements than can be counted");
    return type;
  }

  AttrValue attribute_value(Attr attr) {
    switch (kind_of(attr)) {
      case AttrKind::integer:
        return integer();
      case AttrKind::integers:
        return integers();
      case AttrKind::dtype:
        return dtype();
      case AttrKind::word: {
        const Token token = expect(Token::Kind::word, "a word");
        const std::optional<Word> word = named<Word>(token.text, kWordCount);
        if (!word) fail(token, shown(token.text) + " is not a word that attributes take");
        return *word;
      }
      case AttrKind::tensor:
        break;
    }
    fail(token_, "write constants as '%0 = constant f32[2] [1.0, 2.0]'");
  }

  Attributes attributes() {
    Attributes attributes;
    if (!accept('{')) return attributes;
    list('}', [&] {
      const Token token = expect(Token::Kind::word, "the name of an attribute");
      const std::optional<Attr> attr = named<Attr>(token.text, kAttrCount);
      if (!attr) fail(token, "there is no attribute " + shown(token.text));
      if (attributes.has(*attr)) fail(token, "attribute " + shown(token.text) + " is given twice");
      expect('=');
      attributes.set(*attr, attribute_value(*attr));
    });
    return attributes;
  }

  // Literals and operands

  bool at_literal() const {
    return token_.kind == Token::Kind::number || token_.is_word("true") || token_.is_word("false") ||
           token_.is_word("inf") || token_.is_word("nan");
  }

  LiteralText literal() {
    if (!at_literal()) expected("a number");
    const Token token = take();
    LiteralText literal{token.text, {}};
    if (literal.text == "nan" && accept('(')) {
      const Token bits = expect(Token::Kind::number, "the bits of a NaN, such as 0x7fc00000");
      const bool hex = bits.text.starts_with("0x");
      const char* end = bits.text.data() + bits.text.size();
      uint64_t value = 0;
      const auto result = std::from_chars(bits.text.data() + (hex ? 2 : 0), end, value, 16);
      if (!hex || result.ec != std::errc{} || result.ptr != end)
        fail(bits, "expected bits such as 0x7fc00000");
      literal.nan_bits = value;
      expect(')');
    }
    return literal;
  }

  Tensor scalar(const LiteralText& literal, DType dtype, const Token& at) {
    Tensor tensor(TensorType{dtype, {}});
    const std::string problem = store_literal(literal, dtype, tensor.mutable_data());
    if (!problem.empty()) fail(at, problem, UserError::Kind::type);
    return tensor;
  }

  /// Equal inline constants are one node.
  Value inline_constant(const LiteralText& literal, DType dtype, const Token& at) {
    Tensor tensor = scalar(literal, dtype, at);
    uint64_t bits = 0;
    std::memcpy(&bits, tensor.data(), tensor.byte_size());
    const auto [place, is_new] = constants_.try_emplace({dtype, bits});
    if (is_new) place->second = graph_->add_constant(std::move(tensor), location_of(at));
    return place->second;
  }

  Operand operand() {
    Operand operand{token_, {}, {}};
    if (token_.kind == Token::Kind::value) {
      const auto found = values_.find(token_.name);
      if (found == values_.end()) fail(token_, "%" + written_name(token_.name) + " is not defined here");
      operand.value = found->second;
      advance();
    } else if (at_literal()) {
      operand.literal = literal();
    } else if (token_.kind == Token::Kind::word && dtype_named(token_.text)) {
      const DType of = dtype();
      expect('(');
      operand.literal = literal();
      operand.value = inline_constant(operand.literal, of, operand.token);
      expect(')');
    } else {
      expected("a value or a number");
    }
    return operand;
  }

  /// The dtype that stands for a bare literal among the operands of `op`.
  DType dtype_of_literal(Op op, const std::vector<Operand>& operands, size_t position) {
    const Operand& wanted = operands[position];
    if (const std::optional<DType> own = own_dtype(wanted.literal)) return *own;
    const DTypeGroup group = dtype_group(op, position);
    if (group == DTypeGroup::boolean) return DType::boolean;
    if (group == DTypeGroup::common) {
      for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].value && dtype_group(op, i) == DTypeGroup::common) {
          return graph_->type_of(*operands[i].value).dtype;
        }
      }
    }
    fail(wanted.token, "nothing here says the dtype of " + shown(wanted.token.text) + ": write it as " +
                           (group == DTypeGroup::common ? "f32(...)" : "i64(...)"));
  }

  std::vector<Value> resolve(Op op, std::vector<Operand> operands) {
    std::vector<DType> dtypes(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].value) dtypes[i] = dtype_of_literal(op, operands, i);
    }
    std::vector<Value> values;
    values.reserve(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      values.push_back(operand.value ? *operand.value
                                     : inline_constant(operand.literal, dtypes[i], operand.token));
    }
    return values;
  }

  // Lines

  SourceLocation location_of(const Token& token) const {
    SourceLocation where = lexer_.location_of(token);
    where.function = graph_->name();
    return where;
  }

  void define(const Token& name, Value value) {
    if (!values_.emplace(name.name, value).second) {
      fail(name, "%" + written_name(name.name) + " is defined twice");
    }
  }

  Value constant(const Token& at) {
    const TensorType wanted = type();
    const size_t size = size_of(wanted.dtype);
    if (!accept('[')) {
      if (wanted.bytes() > splat_bytes_left_) {
        fail(at, "constants written as one number have at most " + std::to_string(kMaxParsedSplatBytes) +
                     " bytes in all");
      }
      splat_bytes_left_ -= wanted.bytes();
      const Token start = token_;
      const Tensor one = scalar(literal(), wanted.dtype, start);
      Tensor tensor(wanted);
      for (size_t i = 0; i < tensor.byte_size(); i += size)
        std::memcpy(tensor.mutable_data() + i, one.data(), size);
      return graph_->add_constant(std::move(tensor), location_of(at));
    }
    std::vector<std::byte> bytes;
    list(']', [&] {
      const Token start = token_;
      bytes.resize(bytes.size() + size);
      const std::string problem = store_literal(literal(), wanted.dtype, &bytes[bytes.size() - size]);
      if (!problem.empty()) fail(start, problem, UserError::Kind::type);
    });
    const size_t given = bytes.size() / size;
    if (given != static_cast<size_t>(wanted.elements())) {
      fail(at, to_string(wanted) + " has " + std::to_string(wanted.elements()) + " elements, but " +
                   std::to_string(given) + " are given");
    }
    return graph_->add_constant(Tensor::copy_of(wanted, bytes.data()), location_of(at));
  }

  Value operation(Op op, const Token& at) {
    std::vector<Operand> operands;
    if (token_.kind == Token::Kind::value || token_.kind == Token::Kind::word || at_literal()) {
      if (!token_.is_word("return")) {
        do {
          operands.push_back(operand());
        } while (accept(','));
      }
    }
    const int arity = info(op).arity;
    if (arity >= 0 && operands.size() != static_cast<size_t>(arity)) {
      fail(at, std::string(name_of(op)) + " takes " + std::to_string(arity) +
                   (arity == 1 ? " operand" : " operands") + ", but " + std::to_string(operands.size()) +
                   (operands.size() == 1 ? " is" : " are") + " given");
    }
    std::vector<Value> inputs = resolve(op, std::move(operands));
    Attributes given = attributes();
    return graph_->add(op, std::move(inputs), std::move(given), location_of(at));
  }

  void line() {
    const Token name = expect(Token::Kind::value, "a line such as '%0 = exp %x', or 'return'");
    expect('=');
    const Token at = expect(Token::Kind::word, "an operation");
    const std::optional<Op> op = op_named(at.text);
    if (!op) fail(at, "there is no operation " + shown(at.text));
    if (*op == Op::parameter) fail(at, "parameters stand in the head of the function");
    const Value value = *op == Op::constant ? constant(at) : operation(*op, at);
    define(name, value);
    if (accept(':')) {
      const Token start = token_;
      const TensorType wanted = type();
      if (wanted != graph_->type_of(value)) {
        fail(start,
             std::string(at.text) + " makes " + to_string(graph_->type_of(value)) + ", not " +
                 to_string(wanted),
             UserError::Kind::type);
      }
    }
  }

  void results() {
    const Token at = take();  // return
    std::vector<Value> outputs;
    if (!token_.is('}')) {
      do {
        const Operand result = operand();
        if (result.value) {
          outputs.push_back(*result.value);
        } else if (const std::optional<DType> own = own_dtype(result.literal)) {
          outputs.push_back(inline_constant(result.literal, *own, result.token));
        } else {
          fail(result.token,
               "nothing here says the dtype of " + shown(result.token.text) + ": write it as f32(...)");
        }
      } while (accept(','));
    }
    if (outputs.empty()) fail(at, "a function returns at least one value");
    graph_->set_outputs(std::move(outputs));
  }

  void parameter() {
    const Token name = expect(Token::Kind::value, "a parameter such as '%x: f32[4]'");
    expect(':');
    TensorType of = type();
    define(name, graph_->add_parameter(name.name, std::move(of), location_of(name)));
  }

  Graph function() {
    if (!token_.is_word("func")) expected("'func'");
    advance();
    Graph graph(expect(Token::Kind::function, "a name such as @f").name);
    graph_ = &graph;
    values_.clear();
    constants_.clear();
    expect('(');
    list(')', [&] { parameter(); });
    expect('{');
    while (!token_.is_word("return")) {
      if (token_.is('}')) fail(token_, "the function ends without 'return'");
      line();
    }
    results();
    expect('}');
    return graph;
  }

  Lexer lexer_;
  Token token_;
  Graph* graph_ = nullptr;
  int64_t splat_bytes_left_ = kMaxParsedSplatBytes;
  std::unordered_map<std::string, Value> values_;
  std::map<std::pair<DType, uint64_t>, Value> constants_;
};

}  // namespace

std::vector<Graph> parse(std::string_view text, const std::string& file_name) {
  return Parser(text, file_name).file();
}

Graph parse_one(std::string_view text, const std::string& file_name) {
  std::vector<Graph> graphs = parse(text, file_name);
  if (graphs.size() != 1) {
    throw UserError("expected one function, found " + std::to_string(graphs.size()),
                    graphs[1].parameters().empty() ? SourceLocation{file_name, 1, 1, {}}
                                                   : graphs[1][graphs[1].parameters()[0]].where);
  }
  return std::move(graphs[0]);
}

}  // namespace tokamak

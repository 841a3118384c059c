#include "cache/entry.h"

#include <gtest/gtest.h>

#include "cache/build_id.h"

namespace tokamak {
namespace {

const Digest kKey = digest_of("key");
const std::string kContent = std::string("machine code") + std::string(300, '\0') + "the end";

TEST(CacheEntry, HoldsWhatWasPutIn) {
  const std::optional<CacheEntry> entry = decode_entry(kKey, encode_entry(kKey, "softmax", kContent));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->label, "softmax");
  EXPECT_EQ(entry->content, kContent);
  EXPECT_TRUE(decode_entry(kKey, encode_entry(kKey, "", "")));
}

TEST(CacheEntry, IsNothingWhenCutAnywhere) {
  const std::string bytes = encode_entry(kKey, "softmax", kContent);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_entry(kKey, bytes.substr(0, size))) << size;
}

TEST(CacheEntry, IsNothingWhenAnyBitIsFlipped) {
  const std::string bytes = encode_entry(kKey, "softmax", kContent);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_entry(kKey, flipped)) << bit;
  }
}

TEST(CacheEntry, IsNothingWhenLonger) {
  const std::string bytes = encode_entry(kKey, "softmax", kContent);
  EXPECT_FALSE(decode_entry(kKey, bytes + '\0'));
  EXPECT_FALSE(decode_entry(kKey, bytes + bytes));
}

TEST(CacheEntry, IsNothingForAnotherKey) {
  EXPECT_FALSE(decode_entry(digest_of("other"), encode_entry(kKey, "softmax", kContent)));
}

TEST(CacheEntry, IsNothingOfAnotherVersion) {
  std::string bytes = encode_entry(kKey, "softmax", kContent);
  bytes[7] = '0';
  EXPECT_FALSE(decode_entry(kKey, bytes));
  EXPECT_EQ(label_of_entry(bytes), "");
}

TEST(CacheEntry, LengthsThatWrapAroundAreNoLengths) {
  std::string bytes = encode_entry(kKey, "softmax", kContent);
  for (size_t i = 72; i < 80; ++i) bytes[i] = '\xff';  // of the label
  EXPECT_FALSE(decode_entry(kKey, bytes));
  EXPECT_EQ(label_of_entry(bytes), "");
}

TEST(Fingerprint, TellsWhereTextsEnd) {
  EXPECT_NE(Fingerprint().add("ab").add("c").digest(), Fingerprint().add("a").add("bc").digest());
  EXPECT_EQ(to_hex(digest_of("")), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
}

TEST(BuildId, IsOfTheProgramThatHasTheCode) {
  const std::string ours = build_id_of(reinterpret_cast<const void*>(&build_id_of));
  EXPECT_EQ(ours.size(), 20);
  const std::string of_libc = build_id_of(reinterpret_cast<const void*>(&malloc));
  EXPECT_NE(of_libc, ours);
  int on_the_stack = 0;
  EXPECT_EQ(build_id_of(&on_the_stack), "");
}

}  // namespace
}  // namespace tokamak

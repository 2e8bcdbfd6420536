// Names that CockroachDB had to make legal.
#include "connectors/format/sql_name.h"

#include <gtest/gtest.h>

namespace weir::connectors {
namespace {

TEST(SqlNameTest, B49_EscapesAreDecoded) {
  EXPECT_EQ(UnescapeSqlName("caf_u00e9_"), "caf\xc3\xa9");
  EXPECT_EQ(UnescapeSqlName("a_u0021__u0021_b"), "a!!b");
  EXPECT_EQ(UnescapeSqlName("_u0001f980_"), "\xf0\x9f\xa6\x80");
  EXPECT_EQ(UnescapeSqlName("_u6f22_"), "\xe6\xbc\xa2");
  EXPECT_EQ(UnescapeSqlName("_u0020_x_u0020_"), " x ");
  // A name that looks like an escape is escaped itself, sign by sign.
  EXPECT_EQ(UnescapeSqlName("_u005f__u0075__u0030__u0030__u0032__u0031__u005f_"), "_u0021_");
  EXPECT_EQ(UnescapeSqlName("_u_u0021_"), "_u!");
  EXPECT_EQ(UnescapeSqlName("_u002E_"), ".");
}

TEST(SqlNameTest, B49_WhatIsNoEscapeStaysAsItIs) {
  for (const char* name : {"", "orders", "_u", "_u_", "_u0_", "_u0021", "_u00zz_", "_u000000021_", "_u110000_",
                           "_ud800_", "_u0000_", "u0021_", "_U0021_", "my_users", "_u-021_"}) {
    EXPECT_EQ(UnescapeSqlName(name), name);
  }
}

TEST(SqlNameTest, B49_TheTablesOfATopicArePartedBeforeTheyAreDecoded) {
  TopicTables tables("pre.fix_");
  EXPECT_EQ(tables.TableOf("pre.fix_db.public.a_u002e_b"), "a.b");
  EXPECT_EQ(tables.TableOf("pre.fix_db.public.a_u002e_b"), "a.b");
  EXPECT_EQ(tables.TableOf("t_u0021_"), "t!");
  EXPECT_EQ(tables.TableOf("pre.fix_"), "");
  EXPECT_EQ(tables.TableOf(""), "");
  EXPECT_EQ(tables.TableOf("x"), "x");
}

}  // namespace
}  // namespace weir::connectors

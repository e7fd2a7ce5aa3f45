//! Tests of the fuzzers' entry points on their corpus and on bytes from a seed.

mod corpus;
mod seeded;

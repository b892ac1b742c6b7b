//! English words that say nothing about what a question is after.

/// Sorted, lower case. Lucene's classic list with the question words and auxiliaries that open
/// most questions put to a help desk; chosen on the development halves of public sets (see
/// `ARCHITECTURE.md`, "What was measured").
const ENGLISH: [&str; 77] = [
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "may", "me", "my", "no", "not", "of", "on", "or", "our", "shall",
    "she", "should", "so", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "he", "his", "her",
    "him",
];

/// Whether `word` (lower case, not stemmed) is a stop word of `language`.
pub(super) fn is_stop(language: &str, word: &str) -> bool {
    language == "en" && ENGLISH.contains(&word)
}

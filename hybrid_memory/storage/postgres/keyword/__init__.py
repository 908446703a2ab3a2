"""The keyword index: postings in plain tables, ranked by BM25."""

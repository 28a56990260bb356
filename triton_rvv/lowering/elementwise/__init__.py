"""Operations that compute each element by itself, or only move elements."""

"""Models: from "provider:model" to something that answers, however its server behaves."""

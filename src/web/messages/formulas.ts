// How formulas look: fetched when the first one is shown.
import 'katex/dist/katex.min.css';

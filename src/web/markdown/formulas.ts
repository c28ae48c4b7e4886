// Styles of formulas, loaded when the first formula is shown.
import 'katex/dist/katex.min.css';

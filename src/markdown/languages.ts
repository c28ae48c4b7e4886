/** A programming language or other format that a code block can name. */
export interface Language {
  /** Name of the language as shown to users. */
  readonly name: string;
  /** Name of the grammar in the highlighter. Undefined for text that is not highlighted. */
  readonly grammar: string | undefined;
  /** Whether text that no rule of the grammar matches consists of names and operators. If false, such text is prose. */
  readonly isCode: boolean;
}

/**
 * Programming languages: grammar of the highlighter, name as shown, and aliases that a code block accepts besides the grammar's
 * name.
 */
const CODE: readonly (readonly [grammar: string, name: string, words: string])[] = [
  ['bash', 'Bash', 'sh zsh ksh shell'],
  ['c', 'C', 'h'],
  ['clojure', 'Clojure', 'clj'],
  ['cmake', 'CMake', ''],
  ['cpp', 'C++', 'c++ cc cxx hpp hxx'],
  ['csharp', 'C#', 'c# cs'],
  ['css', 'CSS', ''],
  ['dart', 'Dart', ''],
  ['dockerfile', 'Docker', 'docker'],
  ['elixir', 'Elixir', 'ex exs'],
  ['erlang', 'Erlang', 'erl'],
  ['fsharp', 'F#', 'f# fs'],
  ['go', 'Go', 'golang'],
  ['graphql', 'GraphQL', 'gql'],
  ['groovy', 'Groovy', ''],
  ['haskell', 'Haskell', 'hs'],
  ['ini', 'INI', 'cfg toml'],
  ['java', 'Java', ''],
  ['javascript', 'JavaScript', 'js jsx mjs cjs'],
  ['json', 'JSON', 'json5 jsonc'],
  ['julia', 'Julia', 'jl'],
  ['kotlin', 'Kotlin', 'kt kts'],
  ['less', 'LessCss', ''],
  ['lisp', 'Common Lisp', 'common-lisp cl elisp emacs-lisp'],
  ['lua', 'Lua', ''],
  ['makefile', 'Makefile', 'make mk'],
  ['matlab', 'Matlab', ''],
  ['nginx', 'Nginx configuration file', ''],
  ['objectivec', 'Objective-C', 'objc objective-c obj-c'],
  ['ocaml', 'OCaml', 'ml'],
  ['perl', 'Perl', 'pl'],
  ['php', 'PHP', ''],
  ['powershell', 'PowerShell', 'ps1 pwsh posh'],
  ['protobuf', 'Protocol Buffer', 'proto'],
  ['python', 'Python', 'py python3 py3'],
  ['r', 'R', ''],
  ['ruby', 'Ruby', 'rb'],
  ['rust', 'Rust', 'rs'],
  ['scala', 'Scala', ''],
  ['scss', 'SCSS', 'sass'],
  ['sql', 'SQL', 'mysql sqlite'],
  ['swift', 'Swift', ''],
  ['typescript', 'TypeScript', 'ts tsx mts cts'],
  ['verilog', 'verilog', 'v sv'],
  ['vim', 'VimL', 'viml'],
];

const TEXT: readonly (readonly [grammar: string | undefined, name: string, words: string])[] = [
  ['diff', 'Diff', 'patch udiff'],
  ['http', 'HTTP', ''],
  ['latex', 'TeX', 'tex'],
  ['markdown', 'Markdown', 'md'],
  ['shell', 'Bash Session', 'console shell-session'],
  ['xml', 'XML', 'svg xsl rss'],
  ['xml', 'HTML', 'html xhtml htm'],
  ['yaml', 'YAML', 'yml'],
  [undefined, 'Text only', 'text plain txt none'],
];

const LANGUAGES: ReadonlyMap<string, Language> = new Map(
  [...CODE, ...TEXT].flatMap(([grammar, name, words], i) => {
    const language = { name, grammar, isCode: i < CODE.length };
    const own = grammar === undefined || name === 'HTML' || grammar === 'shell' ? [] : [grammar];
    return [...own, ...words.split(' ').filter((word) => word !== '')].map((word) => [word, language] as const);
  }),
);

/**
 * Returns the language that the first word of a fence names. Undefined for an unknown word.
 *
 * @param word Word in lower case.
 */
export const languageNamed = (word: string): Language | undefined => LANGUAGES.get(word);

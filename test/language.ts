// Counts the comments with words that a reader has to decode, and exits with 1 if there are too many:
// `node test/language.ts [folder …]`. `--list` prints them.
import { globSync, readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { parseSync } from 'vite';

const ROOT = resolve(import.meta.dirname, '..');

/** Limits on wording: a pattern, and the largest share of all comments that may match it. */
export const LIMITS = [
  { name: 'opens with what, who, where, which', pattern: /^(?:what|who|where|which)\b/i, share: 0.01 },
  { name: 'told, tells, hears', pattern: /\b(?:told|tells|hears)\b/i, share: 0.005 },
  { name: 'somebody, nobody, everybody', pattern: /\b(?:somebody|nobody|everybody)\b/i, share: 0.003 },
] as const;

export interface Comment {
  readonly file: string;
  /** Line number, from 1. */
  readonly line: number;
  /** Text of the comment without markers, on one line. */
  readonly text: string;
}

/** Returns the comments of a TypeScript source in their order. Consecutive `//` lines are one comment. */
export function commentsOf(file: string, source: string): Comment[] {
  const comments: (Comment & { readonly lastLine: number; readonly isLine: boolean })[] = [];
  for (const { type, value, start } of parseSync(file, source).comments) {
    const line = source.slice(0, start).split('\n').length;
    const text = plain(value);
    const last = comments.at(-1);
    if (type === 'Line' && last?.isLine && last.lastLine === line - 1) {
      comments[comments.length - 1] = { ...last, text: `${last.text} ${text}`, lastLine: line };
    } else {
      comments.push({ file, line, text, lastLine: line + value.split('\n').length - 1, isLine: type === 'Line' });
    }
  }
  return comments.filter(({ text }) => text !== '' && !text.startsWith('biome-ignore'));
}

const plain = (comment: string): string =>
  comment
    .replaceAll(/^\s*\*/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Returns the comments of the TypeScript files below some folders, without generated ones. */
export function commentsBelow(folders: readonly string[]): Comment[] {
  const files = folders.flatMap((folder) =>
    globSync('**/*.{ts,tsx}', {
      cwd: resolve(ROOT, folder),
      exclude: (name) => /^(?:generated|node_modules)$/.test(name),
    }).map((file) => resolve(ROOT, folder, file)),
  );
  return files.flatMap((file) => commentsOf(relative(ROOT, file), readFileSync(file, 'utf8')));
}

/** Returns the broken limits, with the comments that match their pattern. */
export const broken = (comments: readonly Comment[]) =>
  LIMITS.map(({ name, pattern, share }) => ({
    name,
    share,
    found: comments.filter(({ text }) => pattern.test(text)),
  })).filter(({ found, share }) => found.length > share * comments.length);

if (import.meta.main) {
  const args = process.argv.slice(2);
  const folders = args.filter((arg) => !arg.startsWith('--'));
  const comments = commentsBelow(folders.length > 0 ? folders : ['src', 'test', 'prisma']);
  console.log(`${comments.length} comments`);
  for (const { name, pattern } of LIMITS) {
    const found = comments.filter(({ text }) => pattern.test(text));
    console.log(`${((100 * found.length) / comments.length).toFixed(1)} % ${name}: ${found.length}`);
    if (args.includes('--list')) for (const { file, line, text } of found) console.log(`  ${file}:${line} ${text}`);
  }
  process.exitCode = broken(comments).length === 0 ? 0 : 1;
}

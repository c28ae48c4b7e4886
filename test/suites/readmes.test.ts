import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)));
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const pages = files.filter((file) => /(^|\/)README\.md$|^\.github\/[^/]+\.md$/.test(file));

/** Returns the link anchors of all headings of a page: lower-case words with "-" between them. */
const anchorsOf = (page: string) =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/**
 * Returns whether a file exists and, if the target has an anchor, whether it has that heading. The path is relative to the
 * root.
 */
function isThere(target: string): boolean {
  const [path = '', anchor] = target.split('#');
  if (!existsSync(join(ROOT, path))) return false;
  return anchor === undefined || anchorsOf(path).includes(anchor);
}

describe('the README', () => {
  test('is short', () => {
    expect(Buffer.byteLength(textOf('README.md'))).toBeLessThan(9_000);
    expect(textOf('src/README.md').split('\n').length).toBeLessThan(90);
  });

  test('explains in its first screen what the service is, with the two commands', () => {
    const screen = textOf('README.md').split('\n').slice(0, 24).join('\n');
    for (const part of ['team chat service', 'It is for', 'npm ci && npm start\n', 'npm ci && npm test\n']) {
      expect(screen).toContain(part);
    }
  });

  test('has a tour that can be pasted: commands contain no comments, which zsh would run', () => {
    const commands = [...textOf('README.md').matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
    expect(commands.length).toBeGreaterThan(5);
    expect(commands.filter((block) => /(^|\s)#/.test(block))).toEqual([]);
  });
});

test('every link of a page leads to an existing file and heading', () => {
  expect(pages.length).toBeGreaterThan(10);
  const links = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^\w+:/.test(link))
      .map((link) => ({ page, link })),
  );
  expect(links.length).toBeGreaterThan(20);
  const broken = links.filter(({ page, link }) => {
    const target = link.startsWith('#') ? page + link : relative(ROOT, join(ROOT, dirname(page), link));
    return !isThere(target);
  });
  expect(broken).toEqual([]);
});

test('every source folder with a page is linked from the page above', () => {
  const floors = pages.filter((page) => /^src\/[^/]+\/README\.md$/.test(page));
  const map = textOf('README.md') + textOf('src/README.md');
  expect(floors.filter((page) => !map.includes(page.replace(/^src\//, '')))).toEqual([]);
});

describe('citations', () => {
  const sources = files.filter((file) => /^(src|test|prisma)\/.*\.(ts|prisma|sql)$/.test(file));

  test('refer to documents in the repository', () => {
    // Matches references to documents that are not in the repository. Only this file may contain such references.
    const elsewhere =
      /[Ii]nterface document\b|[Cc]ompanion [1-9A-E]|\b(?:[Ee]ndpoints|events|[Rr]egistration) companion/;
    const section = /@see (?:architecture|style)\b|\/\*\* [1-9A-E]\.\d+ \*\//;
    const citing = [...sources, ...pages].filter(
      (file) => !file.endsWith('readmes.test.ts') && (elsewhere.test(textOf(file)) || section.test(textOf(file))),
    );
    expect(citing).toEqual([]);
  });

  test('of pages refer to existing pages and headings', () => {
    const cited = sources.flatMap((file) =>
      [...textOf(file).matchAll(/@see ((?:\w+\/)*README\.md(?:#[\w-]+)?)/g)].map(([, target = '']) => ({
        file,
        target,
      })),
    );
    expect(cited.length).toBeGreaterThan(10);
    expect(cited.filter(({ target }) => !isThere(target))).toEqual([]);
  });
});

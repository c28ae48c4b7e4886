import { expect, test } from 'vitest';
import { broken, commentsOf } from '../language.ts';

test('finds comments of each kind, and joins the lines of one', () => {
  const source = [
    '/** What comes in. */',
    'const a = 1; // Who is told',
    '// of it.',
    'const text = "// Where it is";',
    '/**',
    ' * Returns nothing.',
    ' * Nobody hears it.',
    ' */',
    'const b = <div>{/* Which one */}</div>;',
    '// biome-ignore lint/x: what a rule',
  ].join('\n');
  const comments = commentsOf('a.tsx', source);
  expect(comments.map(({ line, text }) => [line, text])).toEqual([
    [1, 'What comes in.'],
    [2, 'Who is told of it.'],
    [5, 'Returns nothing. Nobody hears it.'],
    [9, 'Which one'],
  ]);
  expect(broken(comments).map(({ name, found }) => [name, found.length])).toEqual([
    ['opens with what, who, where, which', 3],
    ['told, tells, hears', 2],
    ['somebody, nobody, everybody', 1],
  ]);
});

test('permits few of many', () => {
  const one = { file: 'a.ts', line: 1 };
  const plain = Array.from({ length: 99 }, () => ({ ...one, text: 'Returns the length.' }));
  expect(broken([...plain, { ...one, text: 'What it is.' }])).toEqual([]);
  expect(broken([...plain.slice(1), { ...one, text: 'What it is.' }])).toHaveLength(1);
});

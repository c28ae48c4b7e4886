import MarkdownIt from 'markdown-it';
import { renderMessage } from '../../src/markdown/render.ts';
import { directory } from '../helpers/markdown-golden.ts';
import { PATHOLOGICAL } from '../helpers/pathological-markup.ts';
import { median } from './measure.ts';
import type { Row } from './report.ts';
import type { Stage } from './stage.ts';

/** Longest accepted rendering time of a hostile text, in milliseconds. */
const LIMIT_MS = 200;

const PLAIN =
  'Hello everybody, this is a plain message of about two hundred characters that says nothing of interest at all, but ' +
  'it is long enough to see what rendering costs. It has two sentences, and a comma or two.';

const MARKED =
  'Hi @**Full Name**, see **this** and [that](https://u.org/a): `code` of #**channel>topic** :heart:, at ' +
  'https://example.org/a/b?c=d.\n\n* one *item*\n* another\n\n> and a quote';

const options = { imageAddress: (url: string) => url, translateEmoticons: true };

/**
 * Measures rendering in this process. The yardstick is the parser on which the renderer is based (markdown-it), with that
 * parser's default rules. Rows "i" of the report.
 */
export async function measureMarkdown({ quick }: Pick<Stage, 'quick'>): Promise<Row[]> {
  const markdown = new MarkdownIt({ linkify: true, breaks: true });
  const rounds = quick ? 3 : 9;
  const compare = (what: string, source: string, mark?: number): Row => {
    const service: number[] = [];
    const yardstick: number[] = [];
    for (let i = 0; i <= rounds; i++) {
      const pair = [
        perSecond(() => renderMessage(source, directory, options)),
        perSecond(() => markdown.render(source)),
      ];
      // The first round is a warm-up for the JIT compiler.
      if (i === 0) continue;
      service.push(pair[0] ?? 0);
      yardstick.push(pair[1] ?? 0);
    }
    const each = `${(1e6 / median(service)).toFixed(1)} µs`;
    return { id: 'i', what, unit: '/s', service, yardstick, ...(mark && { mark }), facts: { 'per message': each } };
  };
  return [
    compare('rendering a plain message of 200 characters', PLAIN, 1),
    compare('rendering a message with ten constructs', MARKED),
    measurePathological(rounds),
  ];
}

/** Returns how often `work` runs per second. */
function perSecond(work: () => unknown): number {
  const startedAt = performance.now();
  let count = 0;
  while (performance.now() - startedAt < 100) {
    for (let i = 0; i < 20; i++) work();
    count += 20;
  }
  return (count * 1000) / (performance.now() - startedAt);
}

function measurePathological(rounds: number): Row {
  // Loads the modules that the renderer loads at first use, so that their loading is not measured.
  const loading = millisecondsOf(PATHOLOGICAL['many languages'] ?? '') + millisecondsOf('$$x$$');
  const first = Object.entries(PATHOLOGICAL).map(([name, source]) => [name, millisecondsOf(source)] as const);
  const slowest = first.toSorted(([, a], [, b]) => b - a);
  const [[worst] = ['']] = slowest;
  const again = Array.from({ length: rounds }, () => millisecondsOf(PATHOLOGICAL[worst] ?? ''));
  const listed = slowest.slice(0, 5).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`);
  return {
    id: 'i',
    what: `the slowest of ${first.length} hostile texts of 10,000 characters`,
    unit: 'ms',
    service: again,
    facts: {
      'first rendering': listed.join(', '),
      [`above ${LIMIT_MS} ms`]: first.filter(([, ms]) => ms > LIMIT_MS).length,
      'loading KaTeX and eight languages': `${loading.toFixed(0)} ms`,
    },
  };
}

function millisecondsOf(source: string): number {
  const startedAt = performance.now();
  renderMessage(source, directory, options);
  return performance.now() - startedAt;
}

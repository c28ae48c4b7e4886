import { renderMessage, UnrenderableError } from '../../src/markdown/render.ts';
import { hostileMarkup } from '../helpers/hostile-markup.ts';
import { directory, imageAddress } from '../helpers/markdown-golden.ts';
import { violationsOf } from '../helpers/safe-html.ts';
import { NamedCounters, type Outcome } from './outcome.ts';
import { seeded } from './random.ts';

/**
 * Renders hostile Markdown texts, and checks the HTML with an independent parser. Text of the source must never become markup,
 * and no link may lead to a script.
 *
 * @param texts Number of texts.
 */
export async function markdownTrial({ texts, seed }: { texts: number; seed: number }): Promise<Outcome> {
  const random = seeded(seed);
  const violations = new NamedCounters();
  let [characters, plain, refused] = [0, 0, 0];
  for (let i = 0; i < texts; i++) {
    const source = hostileMarkup(random).slice(0, 10_000);
    characters += source.length;
    const html = tryRender(source, i);
    if (html === undefined) refused++;
    else if (!/<(?!\/?p>|br>)/.test(html)) plain++;
    for (const violation of violationsOf(html ?? ''))
      violations.add(`${violation} of ${JSON.stringify(source.slice(0, 200))}`);
  }
  return {
    trial: 'hostile markup',
    facts: { texts, characters, 'without any markup': plain, 'too long as HTML': refused },
    violations: violations.lines,
  };
}

function tryRender(source: string, i: number): string | undefined {
  try {
    const options = {
      translateEmoticons: i % 2 === 0,
      ...(i % 3 > 0 && { imageAddress }),
      defaultCodeLanguage: i % 5 === 0 ? 'js' : '',
    };
    return renderMessage(source, directory, options).html;
  } catch (error) {
    // `cause` is set if the renderer itself failed.
    if (error instanceof UnrenderableError && error.cause === undefined) return undefined;
    throw error;
  }
}

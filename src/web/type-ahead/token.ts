/** A name that is being typed before the caret: after `@`, `#` or `:`, or a topic after `#**channel>`. */
export interface Token {
  readonly kind: 'person' | 'channel' | 'topic' | 'emoji';
  /** Offset in the text of the character that begins the token: `@`, `#` or `:`. For a topic, the offset of the `#`. */
  readonly start: number;
  /** The name as typed so far, without the character at `start`. For a topic, the text after the `>`. */
  readonly text: string;
  /** For users: whether the mention is silent, and sends no notification. */
  readonly isSilent?: boolean;
  /** For topics: name of the channel. */
  readonly channelName?: string;
}

/**
 * Maximum distance between the caret and the beginning of a name, in characters. No suggestions appear for a name that begins
 * earlier.
 */
const REACH = 160;

// Match the name that is being typed before the caret. A name has at most three words, because otherwise every sentence after
// an "@" would be a name. An `@`, `#` or `:` within a word does not begin a name.
const PERSON = /(?<![\p{L}\p{N}@*_`])@(_?)(?:\*\*?)?((?:[^\s@*#:`]+(?: [^\s@*#:`]*){0,2})?)$/u;
const CHANNEL = /(?<![\p{L}\p{N}#*`/&])#(?:\*\*)?((?:[^\s#*>`]+(?: [^\s#*>`]*){0,2})?)$/u;
const TOPIC = /#\*\*([^*>\n]+)>([^*\n]*)$/u;
const EMOJI = /(?<![\p{L}\p{N}:`]):([a-z0-9_+-]{2,})$/iu;

/**
 * Returns the name that is being typed before the caret. Undefined if there is none, or if the caret is in code.
 *
 * @param before The text up to the caret.
 */
export function tokenAt(before: string): Token | undefined {
  if (isInCode(before)) return undefined;
  const offset = Math.max(0, before.length - REACH);
  const near = before.slice(offset);
  const topic = TOPIC.exec(near);
  if (topic !== null) {
    const [, channelName = '', text = ''] = topic;
    return { kind: 'topic', start: offset + topic.index, text, channelName };
  }
  const person = PERSON.exec(near);
  if (person !== null) {
    const [, silent = '', text = ''] = person;
    return { kind: 'person', start: offset + person.index, text, isSilent: silent !== '' };
  }
  for (const [kind, pattern] of [
    ['channel', CHANNEL],
    ['emoji', EMOJI],
  ] as const) {
    const found = pattern.exec(near);
    if (found !== null) return { kind, start: offset + found.index, text: found[1] ?? '' };
  }
  return undefined;
}

function isInCode(before: string): boolean {
  const isFenced = before.split('```').length % 2 === 0;
  const line = before.slice(before.lastIndexOf('\n') + 1).replaceAll('```', '');
  return isFenced || line.split('`').length % 2 === 0;
}

export const isSameToken = (one: Token | undefined, other: Token | undefined): boolean =>
  one?.kind === other?.kind &&
  one?.start === other?.start &&
  one?.text === other?.text &&
  one?.channelName === other?.channelName;

import type { Client } from 'urql';
import { createStore } from '../base/store.ts';
import { type CustomEmojiRowFragment, EmojiDataDocument, type ReactionType } from '../generated/graphql.ts';
import { type LiveEvent, onEvent } from '../live/engine.ts';
import { queueId } from '../live/status.ts';
import { fitOf } from '../ui/name-words.ts';
import { glyphOf } from '../ui/person.tsx';

/** An emoji for messages and reactions. */
export interface Emoji {
  /** The main name of the emoji, followed by other names under which users can find it. */
  readonly names: readonly [string, ...string[]];
  /** Identifier of the emoji. Unique among the emoji of the same `type`. */
  readonly code: string;
  readonly type: ReactionType;
  /** The characters of the emoji. If undefined, the emoji is an image. */
  readonly glyph: string | undefined;
  readonly imageUrl: string | undefined;
  /** Whether new messages and reactions can use the emoji. */
  readonly isActive: boolean;
}

/** All emoji, custom emoji first. Empty until `loadEmoji` has loaded them. */
export const emojiTable = createStore<readonly Emoji[]>([]);

let loading: Promise<void> | undefined;

/** Loads the emoji once. After a failure, the next call retries. */
export function loadEmoji(client: Client): Promise<void> {
  loading ??= read(client).catch(() => {
    loading = undefined;
  });
  return loading;
}

/** Updates `emojiTable` when custom emoji change. @returns A function that stops the updates and empties the table. */
export function startEmoji(client: Client): () => void {
  const stops = [
    onEvent((event) => {
      const changed = changedBy(event);
      if (changed !== undefined && loading !== undefined) void loading.then(() => put(ownEmoji(changed)));
    }),
    queueId.watch(() => {
      // Events between the old and the new event queue are missing, so all emoji are loaded again.
      if (queueId.get() === null || loading === undefined) return;
      loading = undefined;
      void loadEmoji(client);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    loading = undefined;
    emojiTable.set([]);
  };
}

function changedBy(event: LiveEvent): CustomEmojiRowFragment | undefined {
  const isOne = event.__typename === 'CustomEmojiAddedEvent' || event.__typename === 'CustomEmojiDeactivatedEvent';
  return isOne ? (event.customEmoji ?? undefined) : undefined;
}

/** Replaces a custom emoji in `emojiTable`, or adds it before all other emoji. */
function put(own: Emoji): void {
  const isOwn = ({ type, code }: Emoji) => type === own.type && code === own.code;
  const all = emojiTable.get();
  emojiTable.set(all.some(isOwn) ? all.map((one) => (isOwn(one) ? own : one)) : [own, ...all]);
}

async function read(client: Client): Promise<void> {
  const { url, own } = await readOwn(client);
  const { code_to_names: table } = (await (await fetch(url)).json()) as {
    readonly code_to_names: { readonly [code: string]: [string, ...string[]] };
  };
  const known = Object.entries(table).map(([code, names]): Emoji => {
    return { names, code, type: 'UNICODE_EMOJI', glyph: glyphOf(code), imageUrl: undefined, isActive: true };
  });
  emojiTable.set([...own, ...known.filter(({ glyph }) => glyph !== undefined)]);
}

async function readOwn(
  client: Client,
  after: string | null = null,
): Promise<{ readonly url: string; readonly own: readonly Emoji[] }> {
  const { data, error } = await client
    .query(EmojiDataDocument, { after }, { requestPolicy: 'network-only' })
    .toPromise();
  if (data?.serverSettings === undefined) throw error ?? new Error('The response contains no emoji data');
  const own = (data.customEmoji?.nodes ?? []).map(ownEmoji);
  const url = data.serverSettings.emojiDataUrl;
  const { pageInfo } = data.customEmoji ?? {};
  if (pageInfo?.hasNextPage !== true) return { url, own };
  return { url, own: [...own, ...(await readOwn(client, pageInfo.endCursor)).own] };
}

const ownEmoji = ({ databaseId, name, imageUrl, isActive }: CustomEmojiRowFragment): Emoji => ({
  names: [name],
  code: String(databaseId),
  type: 'REALM_EMOJI',
  glyph: undefined,
  imageUrl,
  isActive,
});

/**
 * Returns the active emoji whose names match a text: exact matches first, then prefixes, then all other matches. Returns all
 * active emoji if the text is empty.
 */
export function findEmoji(all: readonly Emoji[], text: string): readonly Emoji[] {
  const wanted = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s:]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  const usable = all.filter(({ isActive }) => isActive);
  if (wanted === '') return usable;
  const rank = ({ names }: Emoji) => {
    if (names.includes(wanted)) return 0;
    if (names.some((name) => name.startsWith(wanted))) return 1;
    return names.some((name) => name.includes(wanted) || fitOf(name, wanted) !== undefined) ? 2 : 3;
  };
  return usable
    .map((emoji) => ({ emoji, rank: rank(emoji) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .map(({ emoji }) => emoji);
}

/** An emoji with one of its names. */
interface Named {
  readonly emoji: Emoji;
  readonly name: string;
}

/**
 * Returns at most `limit` active emoji that match a partly typed name: exact matches first, then prefixes, then matches of a
 * later word. Each emoji is returned once, with its best matching name.
 */
export function emojiNamed(all: readonly Emoji[], written: string, limit: number): readonly Named[] {
  const text = written.toLowerCase();
  const ranked = all
    .filter(({ isActive }) => isActive)
    .flatMap((emoji) => {
      const fitting = emoji.names.map((name) => ({ emoji, name, rank: nameRank(name, text) }));
      return fitting
        .filter(({ rank }) => rank < UNFIT)
        .sort(byRank)
        .slice(0, 1);
    });
  return ranked.sort(byRank).slice(0, limit);
}

const UNFIT = 3;

function nameRank(name: string, text: string): number {
  if (name === text) return 0;
  const fit = fitOf(name, text);
  return fit === undefined ? UNFIT : fit + 1;
}

type Ranked = Named & { readonly rank: number };

const byRank = (a: Ranked, b: Ranked): number => a.rank - b.rank || a.name.length - b.name.length;

const KEY = 'emoji used';
const KEPT = 16;
const FIRST_CHOICE = ['thumbs_up', 'heart', 'tada', 'joy', 'check', 'eyes', 'pray', 'rocket'];

/** Returns up to `KEPT` emoji: first the emoji that this browser used last, then popular ones. */
export function oftenUsed(all: readonly Emoji[]): readonly Emoji[] {
  const names = new Set([...used(), ...FIRST_CHOICE]);
  return [...names]
    .flatMap((name) => all.find((emoji) => emoji.isActive && emoji.names[0] === name) ?? [])
    .slice(0, KEPT);
}

/** Emoji that are offered before the table is loaded. */
const BASIC = [
  ['thumbs_up', '1f44d'],
  ['heart', '2764'],
  ['tada', '1f389'],
].map(([name = '', code = '']): Emoji => {
  return { names: [name], code, type: 'UNICODE_EMOJI', glyph: glyphOf(code), imageUrl: undefined, isActive: true };
});

/** Returns the emoji that can be added with one click: those that this browser used last, or popular ones. */
export const quickEmoji = (all: readonly Emoji[]): readonly Emoji[] =>
  (all.length === 0 ? BASIC : oftenUsed(all)).slice(0, BASIC.length);

/** Records in local storage that the viewer has used an emoji, for `oftenUsed`. */
export function noteUse({ names: [name] }: Emoji): void {
  localStorage.setItem(KEY, JSON.stringify([name, ...used().filter((one) => one !== name)].slice(0, KEPT)));
}

function used(): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(names) ? names.map(String) : [];
  } catch {
    return [];
  }
}

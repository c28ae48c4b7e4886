import type { Client } from 'urql';
import { createStore } from '../api/store.ts';
import { type CustomEmojiRowFragment, EmojiDataDocument, type ReactionType } from '../generated/graphql.ts';
import { type LiveEvent, onEvent } from '../live/engine.ts';
import { liveStatus } from '../live/status.ts';
import { glyphOf } from '../ui/person.tsx';

/** An emoji that messages and reactions can have. */
export interface Emoji {
  /** What it is called, first; what else finds it. */
  readonly names: readonly [string, ...string[]];
  /** Its identifier within the namespace of its type. */
  readonly code: string;
  readonly type: ReactionType;
  /** How it looks: characters, or an image's address. */
  readonly glyph: string | undefined;
  readonly imageUrl: string | undefined;
  /** Whether it may be used anew. */
  readonly isActive: boolean;
}

/** All there are, the organization's own first; empty until `loadEmoji` has read them. */
export const emojiTable = createStore<readonly Emoji[]>([]);

let loading: Promise<void> | undefined;

/** Reads them, once. What fails is tried again when they are next wanted. */
export function loadEmoji(client: Client): Promise<void> {
  loading ??= read(client).catch(() => {
    loading = undefined;
  });
  return loading;
}

/** Hears which emoji the organization adds and takes out of use, once they were read. @returns What ends it. */
export function startEmoji(client: Client): () => void {
  let { queueId } = liveStatus.get();
  const stops = [
    onEvent((event) => {
      const changed = changedBy(event);
      if (changed !== undefined && loading !== undefined) void loading.then(() => put(ownEmoji(changed)));
    }),
    liveStatus.watch(() => {
      const before = queueId;
      queueId = liveStatus.get().queueId;
      // What happened between two queues nobody has told.
      if (queueId === before || queueId === null || loading === undefined) return;
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

/** In the place of what is known of it, or before all others. */
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
  if (data?.serverSettings === undefined) throw error ?? new Error('No answer');
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

/** Those whose names have the text in them: those that are called so, then those that begin so, then the rest. */
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
    return names.some((name) => name.includes(wanted)) ? 2 : 3;
  };
  return usable
    .map((emoji) => ({ emoji, rank: rank(emoji) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .map(({ emoji }) => emoji);
}

/** An emoji under one of its names. */
interface Named {
  readonly emoji: Emoji;
  readonly name: string;
}

/**
 * The emoji that are meant by what is written of a name by now: named so, beginning so, then with a later word that does;
 * each emoji once, under the name that fits best.
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
  if (name.startsWith(text)) return 1;
  return name.includes(`_${text}`) ? 2 : UNFIT;
}

type Ranked = Named & { readonly rank: number };

const byRank = (a: Ranked, b: Ranked): number => a.rank - b.rank || a.name.length - b.name.length;

const KEY = 'emoji used';
const KEPT = 16;
const FIRST_CHOICE = ['thumbs_up', 'heart', 'tada', 'joy', 'check', 'eyes', 'pray', 'rocket'];

/** Those this browser used last, and some that most people use. */
export function oftenUsed(all: readonly Emoji[]): readonly Emoji[] {
  const names = new Set([...used(), ...FIRST_CHOICE]);
  return [...names]
    .flatMap((name) => all.find((emoji) => emoji.isActive && emoji.names[0] === name) ?? [])
    .slice(0, KEPT);
}

/** Remembers that somebody used it. */
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

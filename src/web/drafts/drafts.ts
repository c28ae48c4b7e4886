import { useEffect } from 'react';
import type { Client } from 'urql';
import { isSameTopic } from '../../contract/topic-key.ts';
import { createStore, useStore } from '../api/store.ts';
import { type DraftRowFragment as Draft, DraftsDocument, type DraftsQuery, OwnDocument } from '../generated/graphql.ts';
import { engineState } from '../live/engine.ts';
import { whenLive } from '../live/status.ts';
import { DraftKeeper, restored } from './keeper.ts';
import { isFor, type Place, placeKey, type TopicPlace } from './place.ts';

/** The keepers of all destinations with unsent text, by `placeKey`. */
const keepers = new Map<string, DraftKeeper>();
const listed = createStore<readonly Draft[]>([]);
/** Keys (`placeKey`) of moved topics whose text is still to be moved by `moveWritten`, together with the view. */
const leaving = new Set<string>();
/** Incremented when text moves to another destination, so that the components that show it render again. */
const moves = createStore(0);
/**
 * IDs of drafts that the service has listed, or that the tab kept from before a reload. If the service does not list such a
 * draft any more, it was deleted.
 */
const known = new Set<string>();

let client: Client | undefined;

/** Returns the viewer and their settings. */
const own = () => client?.readQuery(OwnDocument, {})?.data;
const viewerId = (): string => own()?.viewer?.id ?? '';
/** Returns the client, or null if the viewer's setting does not synchronize drafts with the service. */
const keepingClient = (): Client | null =>
  own()?.ownSettings?.enableDraftsSynchronization === true ? (client ?? null) : null;

/** Returns the prefix of the session storage keys for a user's text. */
const keptFor = (userId: string): string => `written ${userId} `;

/** Removes the text of a user from session storage. */
export function forgetWritten(userId: string): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(keptFor(userId))) sessionStorage.removeItem(key);
}

/** Moves text that previous versions stored under a topic's lower-case name to the key of the topic. */
function rekeyWritten(): void {
  for (const key of Object.keys(sessionStorage)) {
    const [, owner = '', place = ''] = /^(written \S* )(\[".*",".*\P{ASCII}.*"\])$/su.exec(key) ?? [];
    if (place === '') continue;
    const [channelId, topic] = JSON.parse(place) as [string, string];
    const rekeyed = owner + placeKey({ channelId, topic });
    const text = sessionStorage.getItem(key);
    if (rekeyed === key || text === null) continue;
    if (sessionStorage.getItem(rekeyed) === null) sessionStorage.setItem(rekeyed, text);
    sessionStorage.removeItem(key);
  }
}

/** Continues the creation of drafts that a reload of the page has interrupted. */
function resumeCreations(): void {
  const prefix = keptFor(viewerId());
  for (const key of Object.keys(sessionStorage)) {
    if (!key.startsWith(prefix)) continue;
    const place = restored(key).creation?.place;
    if (place !== undefined && prefix + placeKey(place) === key) keeperOf(place);
  }
}

/** Saves all unsaved text immediately. */
export async function saveDrafts(): Promise<void> {
  await Promise.all([...keepers.values()].map((keeper) => keeper.save()));
}

/**
 * Saves text as drafts and shows drafts of other devices, if the viewer's setting synchronizes drafts.
 *
 * @returns A function that stops both.
 */
export function startDrafts(of: Client): () => void {
  client = of;
  rekeyWritten();
  let reading: { readonly unsubscribe: () => void } | undefined;
  const read = () => {
    if (engineState.get() !== 'ready' || reading !== undefined) return;
    resumeCreations();
    reading = of.query(DraftsDocument, {}).subscribe(({ data }) => data?.drafts && hearAll(data.drafts));
  };
  const saveHidden = () => document.hidden && void saveDrafts();
  document.addEventListener('visibilitychange', saveHidden);
  const unwatch = [engineState.watch(read), whenLive(() => void saveDrafts())];
  read();
  return () => {
    reading?.unsubscribe();
    for (const stop of unwatch) stop();
    document.removeEventListener('visibilitychange', saveHidden);
    client = undefined;
    keepers.clear();
    known.clear();
    listed.set([]);
  };
}

function hearAll({ nodes, totalCount }: NonNullable<DraftsQuery['drafts']>): void {
  listed.set(nodes);
  const isWhole = totalCount !== null && totalCount <= nodes.length;
  const gone = new Set(isWhole ? known : []);
  for (const { id } of nodes) {
    known.add(id);
    gone.delete(id);
  }
  const moved = [...keepers.values()].filter(followDraft);
  if (moved.length > 0) moves.set(moves.get() + 1);
  for (const keeper of keepers.values()) deliver(keeper, gone);
}

/**
 * Moves text to the topic to which the service has moved its draft, if the page did not follow the topic itself.
 *
 * @returns Whether the text was moved.
 */
function followDraft(keeper: DraftKeeper): boolean {
  const to = keeper.placeIn(listed.get());
  if (to === undefined || leaving.has(placeKey(keeper.place))) return false;
  moveKeeper(keeper.place, to);
  return true;
}

function deliver(keeper: DraftKeeper, gone: ReadonlySet<string>): void {
  const drafts = listed.get();
  const elsewhere = new Set([...keepers.values()].flatMap((one) => (one === keeper ? [] : one.written.get().draftId)));
  const found = drafts
    .filter((one) => !elsewhere.has(one.id) && isFor(one, keeper.place, viewerId()))
    .toSorted((a, b) => Date.parse(b.lastEditedAt) - Date.parse(a.lastEditedAt))[0];
  keeper.receive(drafts, found, (id) => gone.has(id));
}

/** Returns the keeper of a destination's text, and creates it if needed. */
export function keeperOf(place: Place): DraftKeeper {
  const key = placeKey(place);
  const before = keepers.get(key);
  if (before !== undefined) return before;
  const storageKey = keptFor(viewerId()) + key;
  const keeper = new DraftKeeper(place, storageKey, keepingClient);
  keepers.set(key, keeper);
  const { draftId } = keeper.written.get();
  if (draftId !== null) known.add(draftId);
  if (followDraft(keeper)) return keeperOf(place);
  deliver(keeper, new Set());
  return keeper;
}

/** Keeps the text of a moved topic under its old destination until `isFollowed` settles, whatever the drafts say. */
export function holdWritten(place: TopicPlace, isFollowed: Promise<void>): void {
  const key = placeKey(place);
  leaving.add(key);
  void isFollowed.finally(() => leaving.delete(key));
}

/** Moves the text of a topic in this tab to the topic's new location. */
export function moveWritten(from: TopicPlace, to: TopicPlace): void {
  if (isWriting(from) && placeKey(from) !== placeKey(to)) moveKeeper(from, to);
  const inChannel = keepers.get(placeKey({ channelId: from.channelId, topic: undefined }));
  if (
    inChannel !== undefined &&
    to.channelId === from.channelId &&
    isSameTopic(inChannel.written.get().topic, from.topic)
  )
    inChannel.write({ topic: to.topic });
}

/** Returns whether this tab holds text for a destination. */
export const isWriting = (place: Place): boolean =>
  keepers.has(placeKey(place)) || sessionStorage.getItem(keptFor(viewerId()) + placeKey(place)) !== null;

function moveKeeper(from: Place, to: Place): void {
  const [moved, there] = [keeperOf(from), keepers.get(placeKey(to))];
  const { text } = moved.written.get();
  if (there === undefined) {
    keepers.delete(placeKey(from));
    keepers.set(placeKey(to), moved);
    moved.moveTo(to, keptFor(viewerId()) + placeKey(to));
  } else if (text.trim() !== '') {
    const before = there.written.get().text;
    there.write({ text: before.trim() === '' ? text : `${text}\n\n${before}` });
    moved.clear();
  }
}

/** Returns the unsent text of a destination and functions that change it. The text is saved when the component unmounts. */
export function useDraft(place: Place) {
  useStore(moves);
  const keeper = keeperOf(place);
  const { text, topic } = useStore(keeper.written);
  useEffect(() => () => void keeper.save(), [keeper]);
  return { text, topic, write: keeper.write.bind(keeper), clear: keeper.clear.bind(keeper) };
}

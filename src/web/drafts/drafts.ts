import { useEffect } from 'react';
import type { Client } from 'urql';
import { isSameTopic } from '../../contract/topic-key.ts';
import { createStore, useStore } from '../base/store.ts';
import { type DraftRowFragment as Draft, DraftsDocument, type DraftsQuery, OwnDocument } from '../generated/graphql.ts';
import { engineState } from '../live/engine.ts';
import { connection } from '../live/status.ts';
import { isFor, type Place, placeKey, type TopicPlace } from '../routing/place.ts';
import { beforeReload } from '../ui/reload.ts';
import { DraftKeeper, detachKept, restored } from './keeper.ts';

/** The draft keepers, one for each destination with unsent text, by `placeKey`. */
const keepers = new Map<string, DraftKeeper>();
const listed = createStore<readonly Draft[]>([]);
/**
 * Keys (`placeKey`) of moved topics whose text has not been moved yet. `moveWritten` moves the text when the view follows the
 * topic.
 */
const leaving = new Set<string>();
/** Incremented when text moves to another destination. Components that show text of a destination then render again. */
const moves = createStore(0);
/**
 * IDs of drafts that the service has listed, or that the tab kept from before a reload. If the service does not list such a
 * draft now, the draft was deleted.
 */
const known = new Set<string>();

let client: Client | undefined;

/** Returns the viewer and their settings from the cache. Undefined if the cache does not contain them. */
const own = () => client?.readQuery(OwnDocument, {})?.data;
const viewerId = (): string => own()?.viewer?.id ?? '';
/**
 * Returns the client. Null if the setting of the viewer disables the synchronization of drafts with the service, or is not
 * loaded.
 */
const keepingClient = (): Client | null =>
  own()?.ownSettings?.enableDraftsSynchronization === true ? (client ?? null) : null;

/** Returns the prefix of the session storage keys for the user's unsent text, for all destinations. */
const keptFor = (userId: string): string => `written ${userId} `;

/** Removes the user's unsent text, for all destinations, from session storage. */
export function forgetWritten(userId: string): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(keptFor(userId))) sessionStorage.removeItem(key);
}

/** Moves text to the current storage key of its topic. Previous versions stored it under the topic's lower-case name. */
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

/** Continues to create the drafts whose creation was interrupted by a reload of the page. */
function resumeCreations(): void {
  const prefix = keptFor(viewerId());
  for (const key of Object.keys(sessionStorage)) {
    if (!key.startsWith(prefix)) continue;
    const place = restored(key).creation?.place;
    if (place !== undefined && prefix + placeKey(place) === key) keeperOf(place);
  }
}

/**
 * Maximum time in milliseconds that a caller waits until drafts are saved, because the service may not respond. The tab keeps
 * the text.
 */
const SAVING_MS = 2_000;

/** Saves all unsaved text immediately. Resolves when the text is saved, at the latest after `SAVING_MS`. */
export async function saveDrafts(): Promise<void> {
  const saved = Promise.all([...keepers.values()].map((keeper) => keeper.save()));
  await Promise.race([saved, new Promise((resolve) => setTimeout(resolve, SAVING_MS))]);
}

/**
 * Starts to read the drafts of the viewer from the service, and to save unsent text as drafts. Both happen only while the
 * setting of the viewer enables the synchronization.
 *
 * @returns A function that stops both.
 */
export function startDrafts(of: Client): () => void {
  client = of;
  rekeyWritten();
  let watching: { readonly unsubscribe: () => void } | undefined;
  let reading: { readonly unsubscribe: () => void } | undefined;
  let isOn: boolean | undefined;
  const follow = (setting: boolean | undefined) => {
    if (setting === undefined || setting === isOn) return;
    const isChanged = isOn !== undefined;
    // Set first, because `forgetDrafts` reads the cache, which calls this function again.
    isOn = setting;
    if (isChanged || !setting) forgetDrafts();
    reading?.unsubscribe();
    reading = setting
      ? of.query(DraftsDocument, {}).subscribe(({ data }) => data?.drafts && hearAll(data.drafts))
      : undefined;
  };
  const start = () => {
    if (engineState.get() !== 'ready' || watching !== undefined) return;
    resumeCreations();
    watching = of.query(OwnDocument, {}).subscribe(({ data }) => {
      follow(data?.ownSettings?.enableDraftsSynchronization);
    });
  };
  const saveHidden = () => document.hidden && void saveDrafts();
  document.addEventListener('visibilitychange', saveHidden);
  const saveLive = () => connection.get() === 'live' && void saveDrafts();
  const unwatch = [engineState.watch(start), connection.watch(saveLive), beforeReload(saveDrafts)];
  start();
  return () => {
    for (const one of [watching, reading]) one?.unsubscribe();
    for (const stop of unwatch) stop();
    document.removeEventListener('visibilitychange', saveHidden);
    client = undefined;
    keepers.clear();
    known.clear();
    listed.set([]);
  };
}

/**
 * Forgets all drafts of the viewer: the service deletes them when the synchronization is turned on or off. The tab keeps the
 * text. If the synchronization is on, the text is saved as new drafts.
 */
function forgetDrafts(): void {
  listed.set([]);
  known.clear();
  const prefix = keptFor(viewerId());
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) detachKept(key);
  for (const keeper of keepers.values()) keeper.detach();
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
 * Moves the text of a draft to the topic to which the service has moved the draft. Does nothing while the page itself follows
 * that topic.
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

/**
 * Keeps the text of a moved topic under its old destination until `isFollowed` settles, even if the service has already moved
 * the draft.
 */
export function holdWritten(place: TopicPlace, isFollowed: Promise<void>): void {
  const key = placeKey(place);
  leaving.add(key);
  void isFollowed.finally(() => leaving.delete(key));
}

/** Moves the unsent text of a topic in this tab to the new location of the topic. */
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

/** Returns whether this tab has unsent text for a destination. */
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

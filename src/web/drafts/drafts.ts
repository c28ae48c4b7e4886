import { useEffect } from 'react';
import type { Client } from 'urql';
import { createStore, useStore } from '../api/store.ts';
import { type DraftRowFragment as Draft, DraftsDocument, type DraftsQuery, OwnDocument } from '../generated/graphql.ts';
import { engineState } from '../live/engine.ts';
import { whenLive } from '../live/status.ts';
import { DraftKeeper } from './keeper.ts';
import { isFor, type Place, placeKey } from './place.ts';

/** What is written anywhere, by `placeKey`. */
const keepers = new Map<string, DraftKeeper>();
const listed = createStore<readonly Draft[]>([]);
/** Those that were listed, or were in this tab from an earlier time: no longer listed, they are gone. */
const known = new Set<string>();

let client: Client | undefined;

/** Who is signed in, and what they want. */
const own = () => client?.readQuery(OwnDocument, {})?.data;
const viewerId = (): string => own()?.viewer?.id ?? '';
/** Null as long as the viewer wants no drafts kept by the service. */
const keepingClient = (): Client | null =>
  own()?.ownSettings?.enableDraftsSynchronization === true ? (client ?? null) : null;

/** Under what the tab keeps the words of somebody: what its keys begin with. */
const keptFor = (userId: string): string => `written ${userId} `;

/** Removes what the tab keeps of what somebody has written. */
export function forgetWritten(userId: string): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(keptFor(userId))) sessionStorage.removeItem(key);
}

/** Saves all that is written and not saved, now. */
export async function saveDrafts(): Promise<void> {
  await Promise.all([...keepers.values()].map((keeper) => keeper.save()));
}

/**
 * Keeps what is written as drafts of the viewer, and brings what they write elsewhere, as long as they want their drafts
 * kept by the service.
 *
 * @returns What ends it.
 */
export function startDrafts(of: Client): () => void {
  client = of;
  let reading: { readonly unsubscribe: () => void } | undefined;
  const read = () => {
    if (engineState.get() !== 'ready' || reading !== undefined) return;
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
  for (const keeper of keepers.values()) hear(keeper, gone);
}

function hear(keeper: DraftKeeper, gone: ReadonlySet<string>): void {
  const drafts = listed.get();
  const elsewhere = new Set([...keepers.values()].flatMap((one) => (one === keeper ? [] : one.written.get().draftId)));
  const found = drafts
    .filter((one) => !elsewhere.has(one.id) && isFor(one, keeper.place, viewerId()))
    .toSorted((a, b) => Date.parse(b.lastEditedAt) - Date.parse(a.lastEditedAt))[0];
  keeper.hear(drafts, found, (id) => gone.has(id));
}

/** What keeps the words of a place. */
export function keeperOf(place: Place): DraftKeeper {
  const key = placeKey(place);
  const before = keepers.get(key);
  if (before !== undefined) return before;
  const storageKey = keptFor(viewerId()) + key;
  const keeper = new DraftKeeper(place, storageKey, keepingClient);
  keepers.set(key, keeper);
  const { draftId } = keeper.written.get();
  if (draftId !== null) known.add(draftId);
  hear(keeper, new Set());
  return keeper;
}

/** What is being written in a place; leaving it saves it. */
export function useDraft(place: Place) {
  const keeper = keeperOf(place);
  const { text, topic } = useStore(keeper.written);
  useEffect(() => () => void keeper.save(), [keeper]);
  return { text, topic, write: keeper.write.bind(keeper), clear: keeper.clear.bind(keeper) };
}

import type { Client } from 'urql';
import { isSameTopic } from '../../contract/topic-key.ts';
import { newKey, withKey } from '../api/mutate.ts';
import { retryAfterMs } from '../api/retry.ts';
import { createStore, type Store } from '../base/store.ts';
import {
  CreateDraftDocument,
  DeleteDraftDocument,
  type DraftRowFragment as Draft,
  UpdateDraftDocument,
} from '../generated/graphql.ts';
import { draftOf, type Place, placeKey, type TopicPlace } from '../routing/place.ts';
import { notify } from '../ui/notices.tsx';

/** The unsent text for one destination. */
export interface Written {
  readonly text: string;
  /** Name of a new topic; empty if the destination has a topic. */
  readonly topic: string;
  /** ID of the draft that stores the text on the service. Null if there is none. */
  readonly draftId: string | null;
  /** The text that the service stores, with its destination, as a string from `stateAt`. Empty if it stores no text. */
  readonly saved: string;
  /** The draft that is being created, with its idempotency key. Null if none is. Retries send the text of the first attempt. */
  readonly creation: {
    readonly key: string;
    readonly text: string;
    readonly topic: string;
    /**
     * Destination of the draft. Absent if a previous version of the page started the creation. Then the destination of the
     * keeper is used.
     */
    readonly place?: Place;
  } | null;
}

const NO_DRAFT = { draftId: null, saved: '', creation: null } as const;
const NOTHING: Written = { text: '', topic: '', ...NO_DRAFT };

/**
 * Time in milliseconds without a keystroke after which text is saved, and maximum time between two saves while the user types.
 */
const [QUIET_MS, LONGEST_MS] = [1_000, 8_000];
/** Pause in milliseconds before a save that got no response is retried, if the user does not type. */
const RETRY_MS = 5_000;

type Said = Pick<Written, 'text' | 'topic'>;

const isBlank = ({ text }: Said): boolean => text.trim() === '';
/** Returns a string that identifies a text and its destination, for comparisons. Empty for blank text. */
const stateAt = (place: Place, said: Said): string =>
  isBlank(said) ? '' : JSON.stringify([placeKey(place), said.topic, said.text]);

/** Returns whether a mutation has no result, because no response arrived or because it contains only an error. */
const hasNoResult = (result: object | null | undefined): result is null | undefined => result == null;

/**
 * Stores the unsent text for one destination. The text is stored immediately in session storage, to survive a reload, and
 * shortly after as a draft, for other devices. The last edit wins. Text is never replaced while the user types.
 */
export class DraftKeeper {
  readonly written: Store<Written>;
  #place: Place;
  #storageKey: string;
  /** Returns the client that saves drafts on the service. Null if drafts are stored in this tab only. */
  readonly #client: () => Client | null;
  /** IDs of drafts that this keeper has deleted or replaced, but that the service may still list. */
  readonly #buried = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dirtySince: number | undefined;
  #saving: Promise<boolean> | undefined;

  constructor(place: Place, storageKey: string, client: () => Client | null) {
    this.#place = place;
    this.#storageKey = storageKey;
    this.#client = client;
    this.written = createStore(restored(storageKey));
    if (this.#isDirty()) this.#saveLater();
  }

  get place(): Place {
    return this.#place;
  }

  /** Moves the text and its draft to another destination. */
  moveTo(place: Place, storageKey: string): void {
    sessionStorage.removeItem(this.#storageKey);
    this.#place = place;
    this.#storageKey = storageKey;
    this.#patch('channelId' in place && place.topic !== undefined ? { topic: '' } : {});
    this.#saveLater();
  }

  /**
   * Returns the topic to which the service has moved the draft of the text. Undefined if the draft was not moved, or if the
   * text is not saved as a draft.
   */
  placeIn(listed: readonly Draft[]): TopicPlace | undefined {
    const { draftId } = this.written.get();
    if (draftId === null || this.#saving !== undefined || this.#isDirty() || !('channelId' in this.#place))
      return undefined;
    const { channelId, topic } = this.#place;
    const { channel, topicName } = listed.find(({ id }) => id === draftId) ?? { channel: null };
    if (channel === null || topicName === undefined) return undefined;
    const isThere = channel.id === channelId && (topic === undefined || isSameTopic(topic, topicName));
    return isThere ? undefined : { channelId: channel.id, topic: topicName };
  }

  /** Returns whether the text is unsaved. While the outcome of a draft's creation is unknown, the text counts as unsaved. */
  #isDirty(): boolean {
    const written = this.written.get();
    return written.creation !== null || stateAt(this.#place, written) !== written.saved;
  }

  write(part: Partial<Pick<Written, 'text' | 'topic'>>): void {
    this.#patch(part);
    this.#saveLater();
  }

  /** Removes the text and its draft after the message is sent. The topic stays for the next message. */
  clear(): void {
    this.#patch({ text: '' });
    void this.save();
  }

  /**
   * Shows an existing draft, so that the user can continue it. The previous text is saved as a draft of its own. If that fails,
   * the previous text stays, and a notice is shown.
   */
  async take(draft: Draft): Promise<void> {
    if (this.written.get().draftId === draft.id) return;
    await this.save();
    if (this.#isDirty()) notify('Your text is not saved yet. Try again in a moment.');
    else this.#adopt(draft);
  }

  /**
   * Applies a new list of the drafts of the viewer from the service.
   *
   * @param found Draft of this destination, if any. If the destination has no text, the keeper continues this draft.
   * @param isGone Returns whether a draft was deleted.
   */
  receive(listed: readonly Draft[], found: Draft | undefined, isGone: (draftId: string) => boolean): void {
    const written = this.written.get();
    if (this.#saving !== undefined) return;
    const { draftId } = written;
    if (draftId === null) {
      if (isBlank(written) && written.creation === null && found !== undefined && !this.#buried.has(found.id))
        this.#adopt(found);
      return;
    }
    const own = listed.find(({ id }) => id === draftId);
    if (own !== undefined && !this.#isDirty()) this.#adopt(own);
    else if (own === undefined && isGone(draftId)) this.#lose(this.#isDirty());
  }

  /**
   * Removes the reference to the draft, because the service has deleted all drafts of the viewer. The text stays, and counts as
   * unsaved.
   */
  detach(): void {
    this.#patch(NO_DRAFT);
    this.#saveLater();
  }

  /** Saves unsaved text. If another save is in progress, waits for its end first. Failures are retried later. */
  async save(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#saving !== undefined) await this.#saving;
    const client = this.#client();
    const written = this.written.get();
    if (client === null || !this.#isDirty()) return;
    this.#dirtySince = undefined;
    let isDone = false;
    this.#saving = this.#put(client, written);
    try {
      isDone = await this.#saving;
    } finally {
      this.#saving = undefined;
    }
    if (this.#isDirty()) {
      // The text was sent in the meantime: its draft must be deleted immediately.
      if (isDone && isBlank(this.written.get())) await this.save();
      else this.#saveLater(isDone ? QUIET_MS : RETRY_MS);
    }
  }

  /**
   * Creates, updates or deletes the draft, so that it has the text in `written`.
   *
   * @returns False if the attempt must be retried.
   */
  async #put(client: Client, written: Written): Promise<boolean> {
    const { draftId, text, topic } = written;
    const place = this.#place;
    const saved = stateAt(place, written);
    if (written.creation !== null) return this.#create(client, written.creation);
    if (saved === '' && draftId !== null) return this.#delete(client, draftId);
    if (saved === '') {
      this.#patch({ saved });
      return true;
    }
    const draft = draftOf(place, text, topic);
    if (draftId === null) return this.#create(client, { key: newKey(), text, topic, place });
    const { data } = await client.mutation(UpdateDraftDocument, { input: { draftId, draft } }).toPromise();
    const result = data?.updateDraft;
    if (hasNoResult(result)) return false;
    if (result?.__typename === 'UpdateDraftPayload') this.#patch({ saved });
    // The draft was deleted, so a new one is created. If the service lists the old draft again, that draft is ignored.
    else if (result?.__typename === 'NotFoundError') {
      this.#buried.add(draftId);
      this.#patch({ draftId: null, saved: '' });
    }
    return true;
  }

  async #create(client: Client, creation: NonNullable<Written['creation']>): Promise<boolean> {
    this.#patch({ creation });
    const place = creation.place ?? this.#place;
    const input = { drafts: [draftOf(place, creation.text, creation.topic)] };
    const { data, error } = await client.mutation(CreateDraftDocument, { input }, withKey(creation.key)).toPromise();
    const result = data?.createDrafts;
    if (hasNoResult(result)) {
      // A retry with this idempotency key would get the same error again, so the next attempt uses a new key. After a temporary
      // error, or if no response arrived, the mutation may have been executed, so the next attempt uses the same key.
      if (error !== undefined && error.networkError === undefined && retryAfterMs(error.graphQLErrors) === undefined)
        this.#patch({ creation: null });
      return false;
    }
    const made = result?.__typename === 'CreateDraftsPayload' ? result.drafts?.[0] : undefined;
    // If the service refuses a draft, the tab keeps the text, and the next edit retries.
    this.#patch({ saved: stateAt(place, creation), creation: null, draftId: made?.id ?? null });
    return true;
  }

  async #delete(client: Client, draftId: string): Promise<boolean> {
    this.#buried.add(draftId);
    const { data } = await client.mutation(DeleteDraftDocument, { input: { draftId } }).toPromise();
    if (hasNoResult(data?.deleteDraft)) return false;
    this.#patch({ draftId: null, saved: '' });
    return true;
  }

  #adopt({ id, content, topicName }: Draft): void {
    const topic = 'channelId' in this.#place && this.#place.topic === undefined ? topicName : '';
    const now = { text: content, topic };
    const before = this.written.get();
    if (before.draftId === id && before.text === content && before.topic === topic) return;
    this.#patch({ ...now, draftId: id, saved: stateAt(this.#place, now), creation: null });
  }

  /** Handles the deletion of the draft by another client. The text is removed unless the user has changed it. */
  #lose(isWriting: boolean): void {
    this.#patch({ draftId: null, saved: '', ...(!isWriting && { text: '' }) });
    if (isWriting) this.#saveLater();
  }

  #saveLater(quietMs = QUIET_MS): void {
    this.#dirtySince ??= Date.now();
    clearTimeout(this.#timer);
    const longest = this.#dirtySince + LONGEST_MS - Date.now();
    this.#timer = setTimeout(() => void this.save(), Math.max(0, Math.min(quietMs, longest)));
  }

  #patch(part: Partial<Written>): void {
    const next = { ...this.written.get(), ...part };
    this.written.set(next);
    const isNothing = next.text === '' && next.topic === '' && next.draftId === null && next.creation === null;
    if (isNothing) sessionStorage.removeItem(this.#storageKey);
    else sessionStorage.setItem(this.#storageKey, JSON.stringify(next));
  }
}

/** Detaches the unsent text under a key of session storage from its draft: removes the id of the draft, and keeps the text. */
export function detachKept(storageKey: string): void {
  sessionStorage.setItem(storageKey, JSON.stringify({ ...restored(storageKey), ...NO_DRAFT }));
}

/** Returns the unsent text for a destination from session storage. Empty if session storage has none. */
export function restored(storageKey: string): Written {
  const kept = sessionStorage.getItem(storageKey);
  return kept === null ? NOTHING : { ...NOTHING, ...(JSON.parse(kept) as Partial<Written>) };
}

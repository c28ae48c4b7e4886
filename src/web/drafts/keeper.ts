import type { Client } from 'urql';
import { newKey, withKey } from '../api/mutate.ts';
import { createStore, type Store } from '../api/store.ts';
import {
  CreateDraftDocument,
  DeleteDraftDocument,
  type DraftRowFragment as Draft,
  UpdateDraftDocument,
} from '../generated/graphql.ts';
import { notify } from '../ui/notices.tsx';
import { draftOf, type Place } from './place.ts';

/** What is being written in one place. */
export interface Written {
  readonly text: string;
  /** What a new topic is called; empty where the place has one. */
  readonly topic: string;
  /** The draft that holds it on the service. */
  readonly draftId: string | null;
  /** `stateOf` as the service has it. */
  readonly saved: string;
  /** The draft that is being made, and under which key, however often that is tried: with the words of the first time. */
  readonly creation: { readonly key: string; readonly text: string; readonly topic: string } | null;
}

const NOTHING: Written = { text: '', topic: '', draftId: null, saved: '', creation: null };

/** How long nobody may have written before it is saved, and how long it may take at most while they write on. */
const [QUIET_MS, LONGEST_MS] = [1_000, 8_000];
/** How long what the service did not answer waits, while nobody writes. */
const RETRY_MS = 5_000;

const stateOf = ({ text, topic }: Pick<Written, 'text' | 'topic'>): string =>
  text.trim() === '' ? '' : JSON.stringify([topic, text]);

/** Of a draft that may be made or not nobody knows yet: it is not saved, and not gone either. */
const isDirty = (written: Written): boolean => written.creation !== null || stateOf(written) !== written.saved;

/** Mutations that may have been carried out or not. */
const isUnsure = (result: { readonly __typename?: string } | undefined): boolean =>
  result === undefined || result.__typename === 'RequestTimeoutError';

/**
 * Keeps what is written in one place: at once in the browser's tab, so that a reload finds it, and soon after as a draft,
 * so that it is there in the next window. What was last written wins; nobody's words are replaced while they write.
 */
export class DraftKeeper {
  readonly place: Place;
  readonly written: Store<Written>;
  readonly #storageKey: string;
  /** Null as long as drafts are kept by this tab alone. */
  readonly #client: () => Client | null;
  /** Drafts that were deleted here, and may still be listed. */
  readonly #buried = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dirtySince: number | undefined;
  #saving: Promise<boolean> | undefined;

  constructor(place: Place, storageKey: string, client: () => Client | null) {
    this.place = place;
    this.#storageKey = storageKey;
    this.#client = client;
    this.written = createStore(restored(storageKey));
    if (isDirty(this.written.get())) this.#saveLater();
  }

  write(part: Partial<Pick<Written, 'text' | 'topic'>>): void {
    this.#patch(part);
    this.#saveLater();
  }

  /** It is sent: the draft goes. */
  clear(): void {
    this.#patch({ text: '', topic: '' });
    void this.save();
  }

  /** Goes on with a draft; what was written before is saved as one of its own. */
  async take(draft: Draft): Promise<void> {
    if (this.written.get().draftId === draft.id) return;
    await this.save();
    if (isDirty(this.written.get())) notify('What you were writing is not saved yet: try again in a moment.');
    else this.#adopt(draft);
  }

  /**
   * Hears what drafts there are.
   *
   * @param found The one for this place, if nothing is written here yet.
   * @param isGone Whether a draft that there was is no more.
   */
  hear(listed: readonly Draft[], found: Draft | undefined, isGone: (draftId: string) => boolean): void {
    const written = this.written.get();
    if (this.#saving !== undefined) return;
    const { draftId } = written;
    if (draftId === null) {
      if (stateOf(written) === '' && written.creation === null && found !== undefined && !this.#buried.has(found.id))
        this.#adopt(found);
      return;
    }
    const own = listed.find(({ id }) => id === draftId);
    if (own !== undefined && !isDirty(written)) this.#adopt(own);
    else if (own === undefined && isGone(draftId)) this.#lose(isDirty(written));
  }

  /** Saves what is not saved, now and after what is on its way; what fails is tried again later. */
  async save(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#saving !== undefined) await this.#saving;
    const client = this.#client();
    const written = this.written.get();
    if (client === null || !isDirty(written)) return;
    this.#dirtySince = undefined;
    let isDone = false;
    this.#saving = this.#put(client, written);
    try {
      isDone = await this.#saving;
    } finally {
      this.#saving = undefined;
    }
    if (isDirty(this.written.get())) {
      // What was sent meanwhile is not to come back.
      if (isDone && stateOf(this.written.get()) === '') await this.save();
      else this.#saveLater(isDone ? QUIET_MS : RETRY_MS);
    }
  }

  /** @returns False where it has to be tried again. */
  async #put(client: Client, written: Written): Promise<boolean> {
    const { draftId, text, topic } = written;
    const saved = stateOf(written);
    if (written.creation !== null) return this.#create(client, written.creation);
    if (saved === '' && draftId !== null) return this.#delete(client, draftId);
    if (saved === '') {
      this.#patch({ saved });
      return true;
    }
    const draft = draftOf(this.place, text, topic);
    if (draftId === null) return this.#create(client, { key: newKey(), text, topic });
    const { data } = await client.mutation(UpdateDraftDocument, { input: { draftId, draft } }).toPromise();
    const result = data?.updateDraft;
    if (isUnsure(result)) return false;
    if (result?.__typename === 'UpdateDraftPayload') this.#patch({ saved });
    // It is gone, and made anew; should it be there nevertheless, it is not to come back.
    else if (result?.__typename === 'BadRequestError') {
      this.#buried.add(draftId);
      this.#patch({ draftId: null, saved: '' });
    }
    return true;
  }

  async #create(client: Client, creation: NonNullable<Written['creation']>): Promise<boolean> {
    this.#patch({ creation });
    const input = { drafts: [draftOf(this.place, creation.text, creation.topic)] };
    const { data, error } = await client.mutation(CreateDraftDocument, { input }, withKey(creation.key)).toPromise();
    const result = data?.createDrafts;
    if (result === undefined && error?.networkError === undefined) {
      // An answer that is none: under this key there will be no other.
      this.#patch({ creation: null });
      return false;
    }
    if (isUnsure(result)) return false;
    const made = result?.__typename === 'CreateDraftsPayload' ? result.drafts?.[0] : undefined;
    // What is refused is kept by the tab alone, and tried again with the next word.
    this.#patch({ saved: stateOf(creation), creation: null, draftId: made?.id ?? null });
    return true;
  }

  async #delete(client: Client, draftId: string): Promise<boolean> {
    this.#buried.add(draftId);
    const { data } = await client.mutation(DeleteDraftDocument, { input: { draftId } }).toPromise();
    if (isUnsure(data?.deleteDraft)) return false;
    this.#patch({ draftId: null, saved: '' });
    return true;
  }

  #adopt({ id, content, topicName }: Draft): void {
    const topic = 'channelId' in this.place && this.place.topic === undefined ? topicName : '';
    const now = { text: content, topic };
    const { text, draftId } = this.written.get();
    if (draftId === id && text === content) return;
    this.#patch({ ...now, draftId: id, saved: stateOf(now), creation: null });
  }

  /** The draft was deleted, or sent, elsewhere. */
  #lose(isWriting: boolean): void {
    this.#patch(isWriting ? { draftId: null, saved: '' } : NOTHING);
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
    const isNothing = next.text === '' && next.draftId === null && next.creation === null;
    if (isNothing) sessionStorage.removeItem(this.#storageKey);
    else sessionStorage.setItem(this.#storageKey, JSON.stringify(next));
  }
}

function restored(storageKey: string): Written {
  const kept = sessionStorage.getItem(storageKey);
  return kept === null ? NOTHING : { ...NOTHING, ...(JSON.parse(kept) as Partial<Written>) };
}

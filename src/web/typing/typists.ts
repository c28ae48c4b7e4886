import type { Client } from 'urql';
import type { Placed } from '../api/narrow.ts';
import { createStore } from '../api/store.ts';
import { type LiveEvent, onEvent } from '../live/engine.ts';
import { typingTimes } from './times.ts';

/** Somebody who is writing, as far as was heard. */
export interface Typist {
  readonly userId: string;
  readonly name: string;
  /** Where a message is being written; undefined of one that is edited. */
  readonly place: Placed | undefined;
  /** Which message is being edited. */
  readonly messageId: string | undefined;
}

/** Who is writing anywhere the viewer hears of it, the viewer themselves included. */
export const typists = createStore<readonly Typist[]>([]);

/** Until the service has said another number. */
const EXPIRY_SECONDS = 45;

const timers = new Map<string, ReturnType<typeof setTimeout>>();

/** One writes in one place at a time, and edits beside it. */
const keyOf = ({ userId, messageId }: Typist): string => `${userId} ${messageId ?? ''}`;

function forget(key: string): void {
  clearTimeout(timers.get(key));
  timers.delete(key);
  typists.set(typists.get().filter((one) => keyOf(one) !== key));
}

/** Hears who is writing, and believes it for as long as the service says. @returns What ends it. */
export function startTyping(client: Client): () => void {
  let expirySeconds = EXPIRY_SECONDS;
  void typingTimes(client).then((times) => {
    expirySeconds = times?.expirySeconds ?? expirySeconds;
  });
  const note = (typist: Typist) => {
    const key = keyOf(typist);
    forget(key);
    typists.set([...typists.get(), typist]);
    timers.set(
      key,
      setTimeout(() => forget(key), 1000 * expirySeconds),
    );
  };
  const unhear = onEvent((event) => {
    const told = toldBy(event);
    if (told?.isWriting === true) note(told.typist);
    else if (told !== undefined) forget(keyOf(told.typist));
  });
  return () => {
    unhear();
    for (const key of [...timers.keys()]) forget(key);
  };
}

interface Told {
  readonly typist: Typist;
  readonly isWriting: boolean;
}

/** What an event says of somebody's writing; what they have sent they write no more. */
function toldBy(event: LiveEvent): Told | undefined {
  switch (event.__typename) {
    case 'TypingStartedEvent':
    case 'TypingStoppedEvent': {
      const { sender, channel, topicName, recipients } = event;
      const participantIds = recipients.flatMap((one) => one?.id ?? []);
      const place = { channelId: channel?.id ?? null, topicName: topicName ?? '', participantIds };
      return toldOf(sender, { place, messageId: undefined }, event.__typename === 'TypingStartedEvent');
    }
    case 'EditTypingStartedEvent':
    case 'EditTypingStoppedEvent': {
      const isWriting = event.__typename === 'EditTypingStartedEvent';
      return toldOf(event.sender, { place: undefined, messageId: event.message?.id }, isWriting);
    }
    case 'MessageSentEvent':
      return toldOf(event.message?.sender ?? null, { place: undefined, messageId: undefined }, false);
    default:
      return undefined;
  }
}

function toldOf(
  sender: { readonly id: string; readonly fullName: string } | null,
  what: Pick<Typist, 'place' | 'messageId'>,
  isWriting: boolean,
): Told | undefined {
  return sender === null ? undefined : { typist: { userId: sender.id, name: sender.fullName, ...what }, isWriting };
}

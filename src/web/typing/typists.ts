import type { Client } from 'urql';
import type { Placed } from '../api/narrow.ts';
import { createStore } from '../base/store.ts';
import { type LiveEvent, onEvent } from '../live/engine.ts';
import { typingTimes } from './times.ts';

/** A user who is typing, according to the events received. */
export interface Typist {
  readonly userId: string;
  readonly name: string;
  /** Topic or conversation in which the user types a new message; undefined if the user edits a message. */
  readonly place: Placed | undefined;
  /** ID of the message that the user is editing; undefined for a new message. */
  readonly messageId: string | undefined;
}

/** All users who are typing, including the viewer, in topics and conversations whose events the viewer receives. */
export const typists = createStore<readonly Typist[]>([]);

/**
 * Time in seconds after the last typing event of a user until the user no longer counts as typing. Used until the service has
 * returned its own value.
 */
const EXPIRY_SECONDS = 45;

const timers = new Map<string, ReturnType<typeof setTimeout>>();

/**
 * Returns the key of an entry in `typists`. A user types in one topic or conversation at a time, but can also edit a message
 * there or elsewhere.
 */
const keyOf = ({ userId, messageId }: Typist): string => `${userId} ${messageId ?? ''}`;

function forget(key: string): void {
  clearTimeout(timers.get(key));
  timers.delete(key);
  typists.set(typists.get().filter((one) => keyOf(one) !== key));
}

/** Updates `typists` at each typing event and when an entry expires. @returns A function that ends the updates. */
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
  const removeListener = onEvent((event) => {
    const change = changeIn(event);
    if (change?.isWriting === true) note(change.typist);
    else if (change !== undefined) forget(keyOf(change.typist));
  });
  return () => {
    removeListener();
    for (const key of [...timers.keys()]) forget(key);
  };
}

interface TypingChange {
  readonly typist: Typist;
  readonly isWriting: boolean;
}

/**
 * Returns the user who starts or stops typing according to an event. Undefined for all other events. A sent message ends the
 * typing of its sender.
 */
function changeIn(event: LiveEvent): TypingChange | undefined {
  switch (event.__typename) {
    case 'TypingStartedEvent':
    case 'TypingStoppedEvent': {
      const { sender, channel, topicName, recipients } = event;
      const participantIds = recipients.flatMap((one) => one?.id ?? []);
      const place = { channelId: channel?.id ?? null, topicName: topicName ?? '', participantIds, flags: undefined };
      return typingChange(sender, { place, messageId: undefined }, event.__typename === 'TypingStartedEvent');
    }
    case 'EditTypingStartedEvent':
    case 'EditTypingStoppedEvent': {
      const isWriting = event.__typename === 'EditTypingStartedEvent';
      return typingChange(event.sender, { place: undefined, messageId: event.message?.id }, isWriting);
    }
    case 'MessageSentEvent':
      return typingChange(event.message?.sender ?? null, { place: undefined, messageId: undefined }, false);
    default:
      return undefined;
  }
}

function typingChange(
  sender: { readonly id: string; readonly fullName: string } | null,
  what: Pick<Typist, 'place' | 'messageId'>,
  isWriting: boolean,
): TypingChange | undefined {
  return sender === null ? undefined : { typist: { userId: sender.id, name: sender.fullName, ...what }, isWriting };
}

import { useEffect, useMemo } from 'react';
import { type Client, useClient } from 'urql';
import { OwnDocument, SetEditTypingDocument, SetTypingDocument } from '../generated/graphql.ts';
import { targetOf } from '../routing/place.ts';
import { typingTimes } from './times.ts';

/** Callbacks that send typing notifications. */
export interface TypingNotifier {
  /**
   * Notifies the other users that the user is typing, or has stopped if the text is empty. Must be called at each change of
   * the text.
   *
   * @param isText Whether the text is not empty.
   */
  readonly wrote: (isText: boolean) => void;
  /** Notifies the other users that the user has stopped typing. Must be called when the text is sent or discarded. */
  readonly stop: () => void;
}

/** Destination of typing notifications: a topic of a channel, or users. */
export type TypingTo =
  | { readonly channelId: string; readonly topic: string }
  | { readonly directTo: readonly string[] };

/**
 * Returns callbacks that send typing notifications: when the user begins to type, repeatedly at the interval that the service
 * defines, and when the user stops. If the settings of the viewer disable typing notifications, none are sent.
 *
 * @param to Undefined if there are no recipients yet.
 */
export function useTypingNotification(to: TypingTo | undefined): TypingNotifier {
  const client = useClient();
  const key = JSON.stringify(to);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` identifies `to`.
  const notifier = useMemo(() => {
    if (to === undefined) return NOBODY;
    return newNotifier(client, (operation) => {
      const isWilling = 'channelId' in to ? 'sendChannelTypingNotifications' : 'sendDirectTypingNotifications';
      if (client.readQuery(OwnDocument, {})?.data?.ownSettings?.[isWilling] !== true) return;
      void client.mutation(SetTypingDocument, { input: { to: targetOf(to), operation } }).toPromise();
    });
  }, [client, key]);
  useEffect(() => notifier.stop, [notifier]);
  return notifier;
}

/** Returns callbacks that send typing notifications while the viewer edits a message, to the users who can see the message. */
export function useEditTypingNotification(messageId: string): TypingNotifier {
  const client = useClient();
  const notifier = useMemo(
    () =>
      newNotifier(client, (operation) => {
        void client.mutation(SetEditTypingDocument, { input: { messageId, operation } }).toPromise();
      }),
    [client, messageId],
  );
  useEffect(() => notifier.stop, [notifier]);
  return notifier;
}

const NOBODY: TypingNotifier = { wrote: () => undefined, stop: () => undefined };

function newNotifier(client: Client, say: (operation: 'START' | 'STOP') => void): TypingNotifier {
  let [isWriting, saidAt] = [false, 0];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked: ReturnType<typeof typingTimes> | undefined;
  const stop = () => {
    clearTimeout(timer);
    if (saidAt > 0) say('STOP');
    [isWriting, saidAt] = [false, 0];
  };
  const wrote = async (isText: boolean) => {
    if (!isText) return stop();
    isWriting = true;
    asked ??= typingTimes(client);
    const times = await asked;
    // The user may have stopped typing while the times were being loaded.
    if (times === undefined || !isWriting) return;
    clearTimeout(timer);
    timer = setTimeout(stop, 1000 * times.stopSeconds);
    if (Date.now() - saidAt < 1000 * times.repeatSeconds) return;
    saidAt = Date.now();
    say('START');
  };
  return { wrote: (isText) => void wrote(isText), stop };
}

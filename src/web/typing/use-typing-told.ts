import { useEffect, useMemo } from 'react';
import { type Client, useClient } from 'urql';
import { targetOf } from '../drafts/place.ts';
import { OwnDocument, SetEditTypingDocument, SetTypingDocument } from '../generated/graphql.ts';
import { typingTimes } from './times.ts';

/** Says that somebody is writing. */
export interface Telling {
  /** To be called with each change. @param isText Whether anything is written. */
  readonly wrote: (isText: boolean) => void;
  /** It is sent, or given up. */
  readonly stop: () => void;
}

/** To a topic of a channel, or to people. */
export type TypingTo =
  | { readonly channelId: string; readonly topic: string }
  | { readonly directTo: readonly string[] };

/**
 * Tells those who are written to, as rarely as the service wants it: at the beginning, from time to time, and at the end;
 * not if the viewer wants it kept.
 *
 * @param to Undefined as long as nobody is.
 */
export function useTypingTold(to: TypingTo | undefined): Telling {
  const client = useClient();
  const key = JSON.stringify(to);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of whom it is told.
  const telling = useMemo(() => {
    if (to === undefined) return NOBODY;
    return newTelling(client, (operation) => {
      const isWilling = 'channelId' in to ? 'sendChannelTypingNotifications' : 'sendPrivateTypingNotifications';
      if (client.readQuery(OwnDocument, {})?.data?.ownSettings?.[isWilling] !== true) return;
      void client.mutation(SetTypingDocument, { input: { to: targetOf(to), operation } }).toPromise();
    });
  }, [client, key]);
  useEffect(() => telling.stop, [telling]);
  return telling;
}

/** Tells those who see a message that the viewer changes it. */
export function useEditTypingTold(messageId: string): Telling {
  const client = useClient();
  const telling = useMemo(
    () =>
      newTelling(client, (operation) => {
        void client.mutation(SetEditTypingDocument, { input: { messageId, operation } }).toPromise();
      }),
    [client, messageId],
  );
  useEffect(() => telling.stop, [telling]);
  return telling;
}

const NOBODY: Telling = { wrote: () => undefined, stop: () => undefined };

function newTelling(client: Client, say: (operation: 'START' | 'STOP') => void): Telling {
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
    // It may be over by now.
    if (times === undefined || !isWriting) return;
    clearTimeout(timer);
    timer = setTimeout(stop, 1000 * times.stopSeconds);
    if (Date.now() - saidAt < 1000 * times.repeatSeconds) return;
    saidAt = Date.now();
    say('START');
  };
  return { wrote: (isText) => void wrote(isText), stop };
}

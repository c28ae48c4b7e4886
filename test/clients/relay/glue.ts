import relay, { type Environment, type RecordProxy, type RecordSourceSelectorProxy as Store } from 'relay-runtime';
import type { Json } from '../../helpers/http.ts';
import { LISTS } from '../documents.ts';
import type { QueuePosition } from '../socket.ts';
import { EVENTS, FIRST_SCREEN } from './artifacts.ts';

/** Reads the first screen, and keeps the store up to date. Does so again if the event queue is lost. */
export function live(environment: Environment, place: QueuePosition, variables: Json): void {
  const onCompleted = ({ registerEventQueue }: Json) => {
    const { queueId } = Object.assign(place, registerEventQueue);
    const onError = () => live(environment, place, variables);
    relay.requestSubscription(environment, { subscription: EVENTS, variables: { queueId }, updater, onError });
  };
  relay.commitMutation(environment, { mutation: FIRST_SCREEN, variables, onCompleted });
}

/** Applies an event to lists. Marks the whole store as outdated after rare changes. */
function updater(store: Store, { events: event }: Json): void {
  const message = event.__typename === 'MessageSentEvent' ? store.get(event.message?.id ?? '') : null;
  append('messages', message?.getLinkedRecord('topic'), message);
  append('topics', message?.getLinkedRecord('channel'), message?.getLinkedRecord('topic'));
  append('directConversations', store.getRoot(), message?.getLinkedRecord('directConversation'));
  if (event.all || event.origTopic || event.subscriptions || event.subscriptionIds) store.invalidateStore();
}

/** Moves a node to the end of a list, or adds it. Does nothing if the list is not in the store. */
function append(field: keyof typeof LISTS, parent?: RecordProxy | null, node: RecordProxy | null = null): void {
  const list = node && parent?.getLinkedRecord(field, LISTS[field]);
  list?.setLinkedRecords([...(list.getLinkedRecords('nodes') ?? []).filter((one) => one !== node), node], 'nodes');
}

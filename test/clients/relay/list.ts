import relay, { type RecordSourceSelectorProxy } from 'relay-runtime';

const { ConnectionHandler } = relay;

/** Appends a new message to the list of its channel, if the channel is in the store. */
export function append(store: RecordSourceSelectorProxy): void {
  const message = store.getRootField('events')?.getLinkedRecord('message');
  const channel = message?.getLinkedRecord('channel');
  const list = channel && ConnectionHandler.getConnection(channel, 'documents_messages');
  if (message == null || list == null) return;
  ConnectionHandler.insertEdgeAfter(list, ConnectionHandler.createEdge(store, list, message, 'MessageEdge'));
}

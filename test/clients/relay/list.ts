import relay, { type RecordSourceSelectorProxy } from 'relay-runtime';

const { ConnectionHandler } = relay;

/** Puts a new message to the end of its channel's list, where that is on the screen. */
export function append(store: RecordSourceSelectorProxy): void {
  const message = store.getRootField('events')?.getLinkedRecord('message');
  const channel = message?.getLinkedRecord('channel');
  const list = channel && ConnectionHandler.getConnection(channel, 'documents_messages');
  if (message == null || list == null) return;
  ConnectionHandler.insertEdgeAfter(list, ConnectionHandler.createEdge(store, list, message, 'MessageEdge'));
}

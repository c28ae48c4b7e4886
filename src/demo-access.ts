import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import type { App } from './app.ts';

/** The owner of the demo organisation, whose key is shown to whoever sits at this machine. */
export interface DemoOwner {
  readonly email: string;
  readonly apiKey: string;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Headers by which a proxy says for whom it asks. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/**
 * Whether a page may hold the demo owner's key: demo mode, a peer on this machine, and a Host that names this machine.
 *
 * The Host is checked because a page of a foreign name that resolves to this machine could otherwise read the key.
 *
 * @param peerAddress The socket's remote address.
 * @param host The Host header.
 * @see architecture 7
 */
export function isLocalDemo(app: App, peerAddress: string | undefined, host: string | undefined): boolean {
  return app.config.demo && isLoopbackAddress(peerAddress) && isLoopbackHost(host);
}

/**
 * `isLocalDemo` for a whole request. A proxy on this machine is a loopback peer whoever sits behind it, so a request
 * that says it was forwarded is not local.
 */
export function isLocalDemoRequest(app: App, { headers, socket }: IncomingMessage): boolean {
  if (FORWARDING.some((name) => headers[name] !== undefined)) return false;
  return isLocalDemo(app, socket.remoteAddress, headers.host);
}

function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false;
  return loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d+)?$/i.test(host);
}

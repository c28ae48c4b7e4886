import type { Config } from '../config.ts';
import { Apns } from './apns.ts';
import { Fcm } from './fcm.ts';

/** Kinds of push services of phones. */
export const PHONE_KINDS = ['fcm', 'apns'] as const;
export type PhoneKind = (typeof PHONE_KINDS)[number];

/** Returns the kinds of push services of phones that the operator has configured. */
export const phoneKindsOf = (config: Pick<Config, 'apns' | 'fcm'>): PhoneKind[] =>
  PHONE_KINDS.filter((kind) => config[kind] !== undefined);

/** The configured push services of phones, with their connections. */
export class Phones {
  readonly apns: Apns | undefined;
  readonly fcm: Fcm | undefined;

  constructor({ apns, fcm }: Pick<Config, 'apns' | 'fcm'>, now: () => Date) {
    this.apns = apns && new Apns(apns, now);
    this.fcm = fcm && new Fcm(fcm, now);
  }

  /** Closes the connections. */
  close(): void {
    this.apns?.close();
    this.fcm?.close();
  }
}

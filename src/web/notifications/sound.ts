import type { NotificationSound } from '../generated/graphql.ts';

/** Tones of a sound: frequency in hertz, start and length in seconds. */
type Tone = readonly [hertz: number, start: number, length: number];

const TONES: Readonly<Record<NotificationSound, readonly Tone[]>> = {
  NONE: [],
  DING: [[1_318.5, 0, 0.35]],
  DEFAULT: [
    [880, 0, 0.18],
    [1_174.7, 0.1, 0.32],
  ],
  CHIME: [
    [1_046.5, 0, 0.6],
    [1_318.5, 0.14, 0.6],
    [1_568, 0.28, 0.9],
  ],
};

const VOLUME = 0.12;
/** The tones are computed, not loaded. */
let context: AudioContext | undefined;

/** Plays a notification sound. Plays none before the user has used the page, because browsers do not permit it. */
export function play(sound: NotificationSound): void {
  const tones = TONES[sound];
  if (tones.length === 0 || navigator.userActivation?.hasBeenActive === false) return;
  context ??= new AudioContext();
  // A browser without a sound device rejects this.
  void context.resume().catch(() => undefined);
  for (const tone of tones) playTone(context, tone);
}

function playTone(audio: AudioContext, [hertz, start, length]: Tone): void {
  const [oscillator, gain] = [audio.createOscillator(), audio.createGain()];
  const from = audio.currentTime + start;
  oscillator.frequency.value = hertz;
  gain.gain.setValueAtTime(0, from);
  gain.gain.linearRampToValueAtTime(VOLUME, from + 0.01);
  gain.gain.exponentialRampToValueAtTime(0.0001, from + length);
  oscillator.connect(gain).connect(audio.destination);
  oscillator.start(from);
  oscillator.stop(from + length);
}

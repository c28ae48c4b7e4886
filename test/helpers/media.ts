import type { Page } from 'playwright-core';

/** The first bytes of an MP4 file. */
export const VIDEO_START = Buffer.from('\0\0\0\x18ftypisom\0\0\x02\0isomiso2', 'latin1');

/** Returns a WAV file with a tone of 440 Hz: one channel of 8 bits, 8,000 samples a second. */
export function wav({ seconds }: { readonly seconds: number }): Buffer {
  const rate = 8_000;
  const samples = Buffer.from(
    Array.from({ length: seconds * rate }, (_, i) => 128 + Math.round(60 * Math.sin((2 * Math.PI * 440 * i) / rate))),
  );
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** Returns a video of a second and a half, 64 pixels wide and 48 high, that the browser of a page records. */
export async function recordVideo(page: Page, type: 'mp4' | 'webm'): Promise<Buffer> {
  const bytes = await page.evaluate(async (mimeType) => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [64, 48];
    const context = canvas.getContext('2d');
    const recorder = new MediaRecorder(canvas.captureStream(10), { mimeType });
    const recorded = new Promise<Blob>((resolve) => {
      recorder.ondataavailable = ({ data }) => resolve(data);
    });
    recorder.start();
    for (let frame = 0; frame < 15 && context !== null; frame++) {
      context.fillStyle = `hsl(${20 * frame} 50% 50%)`;
      context.fillRect(0, 0, 64, 48);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    recorder.stop();
    return [...new Uint8Array(await (await recorded).arrayBuffer())];
  }, `video/${type}`);
  return Buffer.from(bytes);
}

/** Returns a sound of half a second that the browser of a page records, as voice messages are. */
export async function recordSound(page: Page, type: 'mp4' | 'webm'): Promise<Buffer> {
  const bytes = await page.evaluate(async (mimeType) => {
    const context = new AudioContext();
    const [tone, stream] = [context.createOscillator(), context.createMediaStreamDestination()];
    tone.connect(stream);
    tone.start();
    await context.resume();
    const recorder = new MediaRecorder(stream.stream, { mimeType });
    const recorded = new Promise<Blob>((resolve) => {
      recorder.ondataavailable = ({ data }) => resolve(data);
    });
    recorder.start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    recorder.stop();
    return [...new Uint8Array(await (await recorded).arrayBuffer())];
  }, `audio/${type}`);
  return Buffer.from(bytes);
}

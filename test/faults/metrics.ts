import { METRICS } from '../helpers/process.ts';

export const MIB = 2 ** 20;

/** Functions that return metrics of a node by name. The value of a metric that the node does not export is NaN. */
export interface Metrics {
  readonly shown: (name: string) => number;
  /** Returns the sum of a metric over all label values. */
  readonly summed: (name: string) => number;
}

/** Reads the metrics of a node that runs with `METRICS.env`. */
export async function readMetrics(url: string): Promise<Metrics> {
  const response = await fetch(`${url}/metrics`, { headers: METRICS.headers });
  const text = await response.text();
  return {
    shown: (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN),
    summed(name) {
      const values = [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'gm'))];
      return values.length === 0 ? Number.NaN : values.reduce((sum, [, value]) => sum + Number(value), 0);
    },
  };
}

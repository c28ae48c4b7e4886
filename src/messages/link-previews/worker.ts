import type { App } from '../../access/context.ts';
import { detached } from '../../events/act.ts';
import { backgroundReading, readLogs } from '../../events/background-reader.ts';
import { OutgoingLimiter } from '../../platform/outgoing-limiter.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { addPreviews } from './apply.ts';
import {
  claimJob,
  deleteUnusedPositions,
  endLeases,
  giveUpJobs,
  type Job,
  linkReader,
  purgePages,
  releaseJob,
} from './queue.ts';

/** Time between two polls for jobs that other nodes have queued, or that are tried again, in milliseconds. */
const POLL_MS = 1_000;
const PURGE_MS = 3_600_000;
/** Maximum number of messages whose pages this process reads at the same time: in total, and of one organization. */
const MAX_RUNNING = 16;
const MAX_OF_ORGANIZATION = 4;
/** Number of messages, out of `MAX_RUNNING`, that only organizations without a running job can start. */
const SPARE = 4;
/** Maximum number of pages that this process reads at the same time. */
const MAX_PAGES = 16;
/** Message to log if jobs could not be claimed. */
const FAILURE = 'previews of links could not be started, retrying';

/**
 * Adds previews of linked web pages to messages. Any number of nodes can run a worker on one database: each job is claimed by
 * one of them. Organizations do not depend on each other: each has a limit of running jobs, and those with the fewest running
 * jobs are served first.
 */
export class LinkPreviewWorker {
  readonly #app: App;
  readonly #limiter = new OutgoingLimiter(MAX_PAGES);
  readonly #reading: PeriodicWorker;
  readonly #polling: PeriodicWorker;
  readonly #running = new Map<Promise<void>, Job>();
  readonly #stop = new AbortController();
  #claiming: Promise<void> | undefined;
  #hasStarted = false;
  #purgedAt = Number.NEGATIVE_INFINITY;

  constructor(app: App) {
    this.#app = app;
    this.#reading = backgroundReading(app, linkReader(app), {
      onDue: () => void this.#startJobs().catch((err: unknown) => app.log.warn({ err }, FAILURE)),
      prepare: () => deleteUnusedPositions(app),
    });
    this.#polling = new PeriodicWorker(app.log, {
      everyMs: POLL_MS,
      failure: FAILURE,
      run: () => this.#startJobs(),
    });
  }

  start(): void {
    this.#reading.start();
    this.#polling.start();
  }

  /** Stops the worker. Requests in progress are aborted, and their jobs are due again. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#reading.stop(), this.#polling.stop()]);
    await this.idle();
  }

  /** Queues messages with links, and starts due jobs. Does not wait for the jobs. */
  async run(): Promise<void> {
    await deleteUnusedPositions(this.#app);
    await readLogs(this.#app, linkReader(this.#app));
    await this.#startJobs();
  }

  /** Starts due jobs, once at a time. */
  async #startJobs(): Promise<void> {
    this.#claiming ??= detached(() => this.#claimJobs()).finally(() => {
      this.#claiming = undefined;
    });
    await this.#claiming;
  }

  async #claimJobs(): Promise<void> {
    const app = this.#app;
    if (!this.#hasStarted && app.database.kind === 'embedded') await endLeases(app);
    this.#hasStarted = true;
    await giveUpJobs(app);
    for (let job = await this.#claimNext(); job !== undefined; job = await this.#claimNext()) {
      const claimed = job;
      const running = detached(() => this.#addPreviews(claimed));
      this.#running.set(running, claimed);
      void running.finally(() => this.#running.delete(running));
    }
    if (app.now().getTime() - this.#purgedAt < PURGE_MS) return;
    await purgePages(app.db, app.now());
    this.#purgedAt = app.now().getTime();
  }

  /** Claims a job of the organizations with the fewest running jobs. Undefined if none is due, or can be started. */
  async #claimNext(): Promise<Job | undefined> {
    const free = MAX_RUNNING - this.#running.size;
    if (free <= 0 || this.#stop.signal.aborted) return undefined;
    const most = free > SPARE ? MAX_OF_ORGANIZATION : 1;
    for (let limit = 1; limit <= most; limit++) {
      const passedOver = this.#organizationsWith(limit);
      const job = await claimJob(this.#app, passedOver);
      if (job !== undefined || passedOver.length === 0) return job;
    }
    return undefined;
  }

  /** Returns the organizations with at least `count` running jobs. */
  #organizationsWith(count: number): number[] {
    const byOrganization = Map.groupBy(this.#running.values(), ({ organizationId }) => organizationId);
    return [...byOrganization].flatMap(([id, jobs]) => (jobs.length >= count ? [id] : []));
  }

  async #addPreviews(job: Job): Promise<void> {
    const { signal } = this.#stop;
    try {
      await addPreviews(this.#app, this.#limiter, job, signal);
    } catch (err) {
      if (signal.aborted) return this.#release(job);
      // The lease ends, and the job is claimed again.
      this.#app.log.warn({ err, message: Number(job.messageId) }, 'previews of links could not be added, retrying');
    }
  }

  async #release(job: Job): Promise<void> {
    await releaseJob(this.#app, job).catch((err: unknown) => {
      this.#app.log.debug({ err }, 'job of link previews could not be released');
    });
  }

  /** Resolves when no job is in progress. */
  async idle(): Promise<void> {
    await this.#claiming?.catch(() => undefined);
    await Promise.all(this.#running.keys());
  }
}

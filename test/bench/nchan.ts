// A broadcast server in C that the service is compared with: nginx with the Nchan module.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../helpers/process.ts';
import { cpuSecondsOf } from './measure.ts';
import { requestBytes } from './raw-http.ts';

/** Path of the Nchan module in Debian's package. */
const MODULE = '/usr/lib/nginx/modules/ngx_nchan_module.so';
const NGINX = '/usr/sbin/nginx';

export const HOW_TO_INSTALL_NCHAN = 'apt-get install libnginx-mod-nchan';

export const hasNchan = (): boolean => existsSync(MODULE) && existsSync(NGINX);

/**
 * Returns the nginx configuration. It has one worker, because the service is one process too. Its message buffer is long enough
 * that no message is lost.
 */
const configurationOf = (folder: string, port: number, sockets: number) => `
load_module ${MODULE};
daemon off;
worker_processes 1;
worker_rlimit_nofile ${sockets + 1_000};
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections ${sockets + 900}; }
http {
  access_log off;
  keepalive_timeout 3600;
  keepalive_requests 1000000000;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location = / { nchan_subscriber websocket; nchan_channel_id bench; nchan_subscriber_first_message newest; }
    location = /publish { nchan_publisher http; nchan_channel_id bench; nchan_message_buffer_length 1000; }
  }
}
`;

/** An nginx process that sends each published message to all WebSockets. */
export class Nchan implements AsyncDisposable {
  readonly port: number;
  readonly #master: ChildProcess;
  readonly #worker: number;
  readonly #folder: string;

  private constructor(port: number, master: ChildProcess, worker: number, folder: string) {
    this.port = port;
    this.#master = master;
    this.#worker = worker;
    this.#folder = folder;
  }

  /** Starts nginx. @param sockets Number of WebSockets that will be opened. */
  static async start(sockets: number): Promise<Nchan> {
    const folder = mkdtempSync(join(tmpdir(), 'bench-nchan-'));
    const port = await freePort();
    const configuration = join(folder, 'nginx.conf');
    writeFileSync(configuration, configurationOf(folder, port, sockets));
    const master = spawn(NGINX, ['-c', configuration, '-p', folder], { stdio: ['ignore', 'ignore', 'inherit'] });
    for (let i = 0; i < 100 && master.exitCode === null; i++) {
      const [worker] = childrenOf(master.pid ?? 0);
      if (worker !== undefined) return new Nchan(port, master, worker, folder);
      await sleep(50);
    }
    master.kill();
    rmSync(folder, { recursive: true, force: true });
    throw new Error('nginx did not start');
  }

  /** Returns `count` HTTP requests that each publish the text. */
  publish(text: string, count: number): Buffer[] {
    const request = requestBytes({ method: 'POST', path: '/publish', port: this.port, body: text });
    return Array.from({ length: count }, () => request);
  }

  /** Returns the CPU time that the nginx worker has used so far, in seconds. */
  cpu(): number {
    return cpuSecondsOf(this.#worker);
  }

  /** Returns the version of the Debian package that contains the Nchan module. */
  static get version(): string {
    const packages = ['-W', '-f', `\${Version}`, 'libnginx-mod-nchan'];
    try {
      return execFileSync('dpkg-query', packages, { encoding: 'utf8' }).replace(/^\d+:|[+-].*$/g, '');
    } catch {
      return '(unknown version)';
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#master, 'exit');
    this.#master.kill('SIGTERM');
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function childrenOf(pid: number): number[] {
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return listed === '' ? [] : listed.split(' ').map(Number);
}

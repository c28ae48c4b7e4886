// npm run bench:day [-- --people=200,2000,20000 --nodes=1,2 --speed=60 --seconds=45 --small --seed=1 --table=day.md]: simulates a
// working day of an organization, and reports the CPU, memory and disk space that the service and PostgreSQL need for it.
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { assumed, assumptionRows, describePlan, planOrganization } from './day-model.ts';
import { detailsOf, headOf, rowOf, tableOf } from './day-report.ts';
import { type DayResult, simulateDays } from './day-run.ts';
import { printColumns } from './report.ts';

const { values: options } = parseArgs({
  options: {
    people: { type: 'string' },
    nodes: { type: 'string', default: '1,2' },
    speed: { type: 'string' },
    seconds: { type: 'string' },
    small: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    table: { type: 'string' },
  },
});
const numbers = (text: string) => text.split(',').map(Number);
const databaseServer = process.env['DATABASE_URL_FOR_TESTS'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const seed = Number(options.seed);
/** With --small, a check that the simulation works: few people for a few seconds. */
const sizes = numbers(options.people ?? (options.small ? '40' : '200,2000,20000'));
const workSeconds = Number(options.seconds ?? (options.small ? 6 : 45));

/** Number of people that two cores serve in real time beside the load generator. The speed divides it. */
const PEOPLE_AT_REAL_TIME = 8_000;
const HIGHEST_SPEED = 60;

const speedOf = (people: number) => Number(options.speed ?? Math.min(HIGHEST_SPEED, PEOPLE_AT_REAL_TIME / people));

const machine = `Node ${process.version}, ${cpus().length} cores: ${cpus()[0]?.model}, ${new Date().toISOString().slice(0, 10)}`;

async function main(): Promise<void> {
  console.log(machine);
  console.log('service, PostgreSQL and load generator on this machine; the CPU of the generator is not counted\n');
  printColumns([['assumption', 'value', 'source or reason'], ...assumptionRows()]);
  const results: DayResult[] = [];
  const beganAt = performance.now();
  for (const people of sizes) {
    console.log(`${people} people`);
    for (const [name, value] of Object.entries(describePlan(planOrganization(people, seed))))
      console.log(`    ${name}: ${value}`);
    const startedAt = performance.now();
    for await (const result of simulateDays({
      ...{ databaseServer, people, seed, workSeconds, speed: speedOf(people), nodes: numbers(options.nodes) },
      lowersSpeed: !options.small && options.speed === undefined,
      morningSeconds: workSeconds / 2,
      warmUpSeconds: workSeconds / 5,
    })) {
      results.push(result);
      // After each result, so that a run that is stopped leaves a table.
      if (options.table !== undefined) writeFileSync(options.table, tableOf(results, machine));
      for (const line of detailsOf(result)) console.log(`    ${line}`);
      console.log(`    (${Math.round((performance.now() - startedAt) / 1000)} s so far)\n`);
    }
  }
  printColumns([headOf(), ...results.map(rowOf)]);
  console.log(
    `CPU is in cores at real time: that of actions is divided by the speed. ${assumed('workdays')} working days a year.`,
  );
  console.log(`${Math.round((performance.now() - beganAt) / 1000)} s in all`);
  console.log(JSON.stringify({ results }));
}

await main();

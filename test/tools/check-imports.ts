import { glob, readFile } from 'node:fs/promises';
import { type Import, betweenNouns, cyclesOf, faultOf, importsOf } from './import-rules.ts';

const imports: Import[] = [];
for await (const file of glob('src/**/*.{ts,tsx}')) imports.push(...importsOf(file, await readFile(file, 'utf8')));
const faults = imports.flatMap((entry) => {
  const fault = faultOf(entry);
  return fault === undefined ? [] : [`${entry.from}:${entry.line}: ${entry.to}: ${fault}`];
});
faults.push(...cyclesOf(imports).map((files) => `cycle: ${files.join(' → ')}`));
faults.push(...cyclesOf(betweenNouns(imports)).map((nouns) => `cycle of nouns: ${nouns.join(' → ')}`));
const listed = new Set(imports.filter(({ from }) => from === 'src/gateway/modules.ts').map(({ to }) => to));
for await (const module of glob('src/domains/*/module.ts'))
  if (!listed.has(module)) faults.push(`${module}: not in src/gateway/modules.ts`);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${imports.length} imports follow the directions.`);

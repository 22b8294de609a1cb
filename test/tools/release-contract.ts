/** `npm run release:contract`: writes what this version promises, with which later versions are compared. Run it once, when the version is final. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { VERSION } from '../../src/core/version.ts';
import { CONTRACT_FILE, RELEASES, contractOf } from './released.ts';

const folder = join(RELEASES, VERSION);
mkdirSync(folder, { recursive: true });
const today = new Date().toISOString().slice(0, 10);
writeFileSync(join(folder, CONTRACT_FILE), gzipSync(JSON.stringify(contractOf(today)), { level: 9 }));
process.stdout.write(`test/releases/${VERSION}/${CONTRACT_FILE}\n`);

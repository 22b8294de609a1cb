import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { checkout } from '../support/processes/programs.ts';

/** The manifests of deploy/kubernetes, against the schemas that Kubernetes and the Prometheus operator publish. */

const FOLDER = join(checkout, 'deploy/kubernetes');
const resource = z.looseObject({ apiVersion: z.string(), kind: z.string() });
const model = z.custom<new (data: object) => { validate(): void }>((value) => typeof value === 'function');

/** What the schema of a resource refuses. */
async function faultOf(document: unknown): Promise<string | undefined> {
  const { apiVersion, kind } = resource.parse(document);
  const source = apiVersion.startsWith('monitoring.') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
  const models = (await import(`${source}/${apiVersion}`)) as Record<string, unknown>;
  const Model = model.parse(models[kind]);
  try {
    new Model(resource.parse(document)).validate();
    return undefined;
  } catch (error) {
    return `${kind}: ${String(error)}`;
  }
}

const documentsOf = (text: string): unknown[] => parseAllDocuments(text).map((document) => document.toJS() as unknown);
const faultsOf = async (documents: readonly unknown[]) =>
  (await Promise.all(documents.map(faultOf))).filter((fault) => fault !== undefined);

test('a resource with a wrong type or an unknown selector is refused', async () => {
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { ports: [{ port: 'http' }] } };
  expect(await faultsOf([service])).toHaveLength(1);
});

test.for(['small', 'replicas', 'worker'])('%s, as kubectl builds it, meets the schemas', async (overlay, { skip }) => {
  skip(spawnSync('kubectl', ['version', '--client']).status !== 0, 'kubectl is not installed');
  const built = execFileSync('kubectl', ['kustomize', join(FOLDER, overlay)], { encoding: 'utf8' });
  expect(await faultsOf(documentsOf(built))).toEqual([]);
});

test.for(['secret.example.yaml', 'monitoring/service-monitor.yaml'])('%s meets the schemas', async (file) => {
  expect(await faultsOf(documentsOf(readFileSync(join(FOLDER, file), 'utf8')))).toEqual([]);
});

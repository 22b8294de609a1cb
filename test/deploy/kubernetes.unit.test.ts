import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { SETTINGS, readConfig } from '../../src/core/config.ts';
import { VERSION } from '../../src/core/version.ts';
import { checkout } from '../support/processes/programs.ts';

/** The manifests of deploy/kubernetes: what the API server would accept or refuse, and what the gateway needs. */

const FOLDER = join(checkout, 'deploy/kubernetes');
const OVERLAYS = ['small', 'replicas', 'worker'];
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

const names = z.record(z.string(), z.string());
const meta = z.object({ name: z.string(), namespace: z.string().optional(), labels: names.default({}) });
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const container = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  envFrom: z.array(
    z.union([
      z.strictObject({ configMapRef: z.object({ name: z.string() }) }),
      z.strictObject({ secretRef: z.object({ name: z.string() }) }),
    ]),
  ),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })).default([]),
  resources: z.object({
    requests: z.object({ cpu: z.string(), memory: z.string() }),
    limits: z.object({ memory: z.string() }),
  }),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe.optional(),
  // The restricted standard of Pod Security, and a file system that cannot be written to.
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.tuple([z.strictObject({ name: z.literal('tmp'), mountPath: z.literal('/tmp') })]),
});
const pod = z.object({
  metadata: z.object({ labels: names }),
  spec: z.object({
    automountServiceAccountToken: z.literal(false),
    terminationGracePeriodSeconds: z.number().min(10),
    securityContext: z.strictObject({
      runAsNonRoot: z.literal(true),
      runAsUser: z.number().min(1),
      seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
    }),
    containers: z.tuple([container]),
    volumes: z.tuple([z.object({ name: z.literal('tmp'), emptyDir: z.object({ sizeLimit: z.string() }) })]),
  }),
});
const selector = z.object({ matchLabels: names });
const RESOURCES = {
  'v1 Namespace': z.object({ metadata: meta }),
  'v1 ConfigMap': z.object({ metadata: meta, data: names }),
  'v1 Secret': z.object({ metadata: meta, stringData: names }),
  'v1 Service': z.object({
    metadata: meta,
    spec: z.object({ selector: names, ports: z.array(z.object({ name: z.string(), targetPort: z.string() })) }),
  }),
  'apps/v1 Deployment': z.object({
    metadata: meta,
    spec: z.object({ replicas: z.number(), selector, template: pod }),
  }),
  'policy/v1 PodDisruptionBudget': z.object({
    metadata: meta,
    spec: z.object({ maxUnavailable: z.literal(1), selector }),
  }),
  'networking.k8s.io/v1 NetworkPolicy': z.object({
    metadata: meta,
    spec: z.object({ podSelector: selector, policyTypes: z.array(z.string()) }),
  }),
  'monitoring.coreos.com/v1 ServiceMonitor': z.object({
    metadata: meta,
    spec: z.object({ selector, endpoints: z.tuple([z.object({ port: z.string(), path: z.literal('/metrics') })]) }),
  }),
} as const;

type Kind = keyof typeof RESOURCES;
const header = z.object({ apiVersion: z.string(), kind: z.string() });
const documentsOf = (text: string): unknown[] => parseAllDocuments(text).map((document) => document.toJS() as unknown);

function ofKind<K extends Kind>(documents: readonly unknown[], kind: K): z.output<(typeof RESOURCES)[K]>[] {
  const found = documents.filter((document) => kindOf(document) === kind);
  return found.map((document) => RESOURCES[kind].parse(document) as z.output<(typeof RESOURCES)[K]>);
}

function kindOf(document: unknown): string {
  const { apiVersion, kind } = header.parse(document);
  return `${apiVersion} ${kind}`;
}

/** What an overlay with its base and the monitoring consists of, as kubectl prints it. */
function rendered(overlay: string): unknown[] {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(FOLDER, overlay)], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return documentsOf(stdout);
}

const secret = documentsOf(readFileSync(join(FOLDER, 'secret.example.yaml'), 'utf8'));
const monitoring = documentsOf(readFileSync(join(FOLDER, 'monitoring/service-monitor.yaml'), 'utf8'));
const isSelected = (wanted: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

test('every file that a kustomization names exists, and every file is named', () => {
  const named = globSync('*/kustomization.yaml', { cwd: FOLDER }).flatMap((file) => {
    const [kustomization] = documentsOf(readFileSync(join(FOLDER, file), 'utf8'));
    const { resources, patches } = z
      .object({ resources: z.array(z.string()), patches: z.array(z.object({ path: z.string() })).default([]) })
      .parse(kustomization);
    return [file, ...[...resources, ...patches.map(({ path }) => path)].map((path) => join(dirname(file), path))];
  });
  expect(named.filter((path) => !existsSync(join(FOLDER, path)))).toEqual([]);
  const files = globSync('*/*.yaml', { cwd: FOLDER });
  expect(files.filter((file) => !named.includes(file))).toEqual([]);
});

test('every variable of the manifests is a setting, and its value is valid', () => {
  const text = globSync('**/*.yaml', { cwd: FOLDER })
    .map((file) => readFileSync(join(FOLDER, file), 'utf8'))
    .join('\n');
  const variables = [...text.matchAll(/\bname: ([A-Z][A-Z_]+)|^ {2}(?:# )?([A-Z][A-Z_]+):/gm)];
  const known = new Set(SETTINGS.map(String));
  expect(variables.map(([, inList, inMap]) => inList ?? inMap ?? '').filter((name) => !known.has(name))).toEqual([]);
  const [configuration] = ofKind(
    documentsOf(readFileSync(join(FOLDER, 'base/configuration.yaml'), 'utf8')),
    'v1 ConfigMap',
  );
  expect(() => readConfig(configuration?.data ?? {})).not.toThrow();
  const optional = [...text.matchAll(/^ {2}# (OIDC_[A-Z_]+): (.*)$/gm)].map(([, name = '', value = '']) => [
    name,
    value.replaceAll("'", ''),
  ]);
  expect(() => readConfig(Object.fromEntries(optional) as Record<string, string>)).not.toThrow();
});

test.for(OVERLAYS)(
  '%s: restricted pods with probes and bounds, which services, policies and monitors find',
  (overlay, { skip }) => {
    skip(!hasKubectl, 'kubectl is not installed');
    const all = [...rendered(overlay), ...secret, ...monitoring];
    expect(all.map(kindOf).filter((kind) => !(kind in RESOURCES))).toEqual([]);
    const [space] = ofKind(all, 'v1 Namespace');
    expect(space?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    const namespaced = all
      .filter((document) => kindOf(document) !== 'v1 Namespace')
      .map((each) => z.object({ metadata: meta }).parse(each).metadata);
    expect(namespaced.filter(({ namespace }) => namespace !== space?.metadata.name)).toEqual([]);

    const deployments = ofKind(all, 'apps/v1 Deployment');
    const pods = deployments.map(({ spec }) => spec.template.metadata.labels);
    const configured = new Set(
      [...ofKind(all, 'v1 ConfigMap'), ...ofKind(all, 'v1 Secret')].map(({ metadata }) => metadata.name),
    );
    for (const { spec } of deployments) {
      const [only] = spec.template.spec.containers;
      expect(isSelected(spec.selector.matchLabels, spec.template.metadata.labels)).toBe(true);
      expect(only.image).toBe(`registry.example.com/workspace-gateway:${VERSION}`);
      const references = only.envFrom.map((each) => ('secretRef' in each ? each.secretRef : each.configMapRef).name);
      expect(references.filter((name) => !configured.has(name))).toEqual([]);
      expect(readConfig(Object.fromEntries(only.env.map(({ name, value }) => [name, value])))).toBeDefined();
      const ports = new Set(only.ports.map(({ name }) => name));
      const probes = [only.startupProbe, only.livenessProbe, only.readinessProbe].filter((each) => each !== undefined);
      expect(probes.filter(({ httpGet }) => !ports.has(httpGet.port) || !PAGES.has(httpGet.path))).toEqual([]);
    }
    const services = ofKind(all, 'v1 Service');
    for (const { spec } of services) expect(pods.filter((labels) => isSelected(spec.selector, labels))).toHaveLength(1);
    for (const { spec } of ofKind(all, 'policy/v1 PodDisruptionBudget'))
      expect(
        deployments.find((each) => isSelected(spec.selector.matchLabels, each.spec.template.metadata.labels))?.spec
          .replicas,
      ).toBeGreaterThan(1);
    const [policy] = ofKind(all, 'networking.k8s.io/v1 NetworkPolicy');
    expect(policy?.spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(pods.filter((labels) => !isSelected(policy?.spec.podSelector.matchLabels ?? {}, labels))).toEqual([]);
    const [monitor] = ofKind(all, 'monitoring.coreos.com/v1 ServiceMonitor');
    const ofMonitor = services.filter(({ metadata }) =>
      isSelected(monitor?.spec.selector.matchLabels ?? {}, metadata.labels),
    );
    expect(ofMonitor).toHaveLength(deployments.length);
    expect(ofMonitor.flatMap(({ spec }) => spec.ports.map(({ name }) => name))).toEqual(
      deployments.map(() => monitor?.spec.endpoints[0].port),
    );
  },
);

test('the network policy lets the pods reach public addresses over HTTPS, over IPv4 and IPv6', () => {
  const [policy] = documentsOf(readFileSync(join(FOLDER, 'base/network-policy.yaml'), 'utf8'));
  const block = z.object({ ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()) }) });
  const rule = z.object({ to: z.tuple([block]).optional(), ports: z.array(z.object({ port: z.number() })) });
  const { spec } = z.object({ spec: z.object({ egress: z.array(rule) }) }).parse(policy);
  const toBlocks = spec.egress.flatMap(({ to, ports }) => (to ? [[to[0].ipBlock.cidr, ports[0]?.port]] : []));
  expect(toBlocks).toEqual([
    ['0.0.0.0/0', 443],
    ['::/0', 443],
  ]);
});

const PAGES = new Set(['/health/ready', '/health/live']);

test('jobs run in every overlay: in the gateways of small and replicas, and in the workers alone of worker', ({
  skip,
}) => {
  skip(!hasKubectl, 'kubectl is not installed');
  const programs = OVERLAYS.map((overlay) =>
    ofKind(rendered(overlay), 'apps/v1 Deployment').map(({ spec }) => {
      const [{ command, env }] = spec.template.spec.containers;
      const { RUN_JOBS, WORKER_PORT } = readConfig(Object.fromEntries(env.map(({ name, value }) => [name, value])));
      return { replicas: spec.replicas, command: command ?? 'that of the image', jobs: RUN_JOBS, port: WORKER_PORT };
    }),
  );
  const gateway = { command: 'that of the image', port: undefined };
  expect(programs).toEqual([
    [{ ...gateway, replicas: 1, jobs: true }],
    [{ ...gateway, replicas: 3, jobs: true }],
    [
      { ...gateway, replicas: 3, jobs: false },
      { replicas: 2, command: ['bin/gateway', 'worker'], jobs: true, port: 4001 },
    ],
  ]);
});

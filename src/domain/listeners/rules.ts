/** The field rules of listeners (docs/deployments.md#listeners). Pure: each function returns violations. */
import type { Listener } from '../../generated/prisma/client.ts'
import type { Violation } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'
import type { ComputeConfig, ComputeType, UpdateBody } from './schemas.ts'

/** Name of a Kubernetes namespace. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

const BY_TYPE: Record<ComputeType, (config: ComputeConfig) => Violation[]> = {
  k8s: ({ k8s_namespaces: namespaces }) => (namespaces ?? []).flatMap(namespaceViolations),
}

/** The compute type selects the rules for `compute_config`. */
export function configViolations(computeType: string, config: ComputeConfig | null | undefined): Violation[] {
  return config == null ? [] : BY_TYPE[computeType as ComputeType](config)
}

function namespaceViolations(name: string, i: number, all: readonly string[]): Violation[] {
  const field = `compute_config.k8s_namespaces.${i}`
  if (!DNS_LABEL.test(name))
    return [
      violation(
        field,
        'Must be a DNS-1123 label: up to 63 lower-case letters, digits and hyphens, with no hyphen at either end.',
      ),
    ]
  return all.indexOf(name) === i ? [] : [violation(field, `The namespace ${name} occurs twice.`)]
}

/** Clients send stored values back, so those are accepted. */
export function immutableViolations(listener: Listener, body: UpdateBody): Violation[] {
  const immutable: [string, unknown, unknown][] = [
    ['compute_type', body.compute_type, listener.computeType],
    ['compute_id', body.compute_id, listener.computeId],
  ]
  return immutable
    .filter(([, sent, stored]) => sent != null && sent !== stored)
    .map(([field, , stored]) => violation(field, `Cannot be changed after creation; it is ${JSON.stringify(stored)}.`))
}

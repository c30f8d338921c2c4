/** Custom resources: served while their CustomResourceDefinition exists, and checked against its schema. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { ROOT } from '../../process.ts'
import { type Kind, kindNamed } from './kinds.ts'
import type { Json, KubeObject } from './objects.ts'
import type { Store } from './store.ts'

/** The CustomResourceDefinition of HTTPRoute, which any cluster accepts. */
export const HTTP_ROUTE_DEFINITION: Json = parse(
  readFileSync(path.join(ROOT, 'test/fixtures/httproutes-crd.yaml'), 'utf8'),
)

/** The CustomResourceDefinition of KEDA's ScaledObject. */
export const SCALED_OBJECT_DEFINITION: Json = parse(
  readFileSync(path.join(ROOT, 'test/fixtures/scaledobjects-crd.yaml'), 'utf8'),
)

export const definitionOf = (store: Store, { plural, group }: Kind): KubeObject | undefined =>
  store.get(kindNamed('CustomResourceDefinition'), undefined, `${plural}.${group}`)

/** Server-side apply refuses members that the schema lacks. */
export function schemaMistakes(definition: Json, object: Json): string[] {
  const [{ schema }] = definition.spec.versions
  const check = new Ajv({ allErrors: true, strict: false, validateFormats: false }).compile(
    closed(schema.openAPIV3Schema),
  )
  check(object)
  return (check.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath.slice(1).replaceAll('/', '.')}: ${message} ${params.additionalProperty ?? ''}`.trim(),
  )
}

function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, closed(member)]))
  return schema.type === 'object' && schema.properties ? { ...members, additionalProperties: false } : members
}

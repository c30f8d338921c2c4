/** The stand-in's objects as plain JSON, with small helpers. */
import { isDeepStrictEqual } from 'node:util'

// Objects of about twenty kinds; validate.ts checks them at runtime.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Json = any

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ManagedFieldsEntry {
  manager: string
  operation: 'Apply' | 'Update'
  apiVersion: string
  time: string
  fieldsType: 'FieldsV1'
  fieldsV1: Json
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    uid: string
    resourceVersion: string
    generation?: number
    creationTimestamp: string
    deletionTimestamp?: string
    deletionGracePeriodSeconds?: number
    labels?: Record<string, string>
    annotations?: Record<string, string>
    finalizers?: string[]
    ownerReferences?: OwnerReference[]
    managedFields?: ManagedFieldsEntry[]
  }
  spec?: Json
  status?: Json
  [member: string]: Json
}

export const clone = <T>(value: T): T => (value === undefined ? value : structuredClone(value))

export const equal = isDeepStrictEqual

export function isMap(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Times of Kubernetes have whole seconds. */
export function timestamp(at = Date.now()): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** The object that controls another one, from its ownerReferences. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller)
}

export function ownerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true }
}

/** Five characters of generated names in Kubernetes: no vowels and no similar-looking characters. */
export function randomSuffix(): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789'
  return Array.from({ length: 5 }, () => letters[Math.floor(Math.random() * letters.length)]).join('')
}

/** Sets a condition and returns the new list. lastTransitionTime changes only with the status. */
export function withCondition(conditions: Json[] = [], condition: Json): Json[] {
  const before = conditions.find(({ type }) => type === condition.type)
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : timestamp()
  const next = { ...condition, lastTransitionTime }
  return before ? conditions.map((one) => (one === before ? next : one)) : [...conditions, next]
}

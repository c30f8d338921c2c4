/** Computes the resources of a spec before it is stored. */
import { z } from 'zod'
import { rejectIfAny } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { type EffectiveSpec, effectiveSpec, resourceSpec, resourceSpecViolations } from '../values/resource-spec.ts'

const effectiveInput = z.object({ query: z.object({ resource_spec: resourceSpec }) })

/** The resources that a deployment would get with a spec that is not stored yet. Throws ValidationError at `resource_spec`. */
export function effectiveResources(raw: RawInput): EffectiveSpec {
  const spec = parse(effectiveInput, raw).query.resource_spec
  rejectIfAny(
    resourceSpecViolations(spec).map(({ loc, ...rest }) => ({
      ...rest,
      loc: ['query', ...loc.slice(loc.indexOf('resource_spec'))],
    })),
  )
  return effectiveSpec(spec)
}

/** Mutations of secrets by name, and the reveal of one value. */

import {
  changeSecrets,
  changeSecretsInput,
  revealSecret,
  revealSecretInput,
  unsetSecretsInput,
} from '../../../domain/deployments/secrets.ts'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import type { Secret } from '../../../domain/values/shapes.ts'
import { builder } from '../builder/builder.ts'
import { verbInput } from '../builder/verb-input.ts'
import { readBack, withOptionalRevision } from './written-deployment.ts'

const RevealSecretSuccess = builder.objectRef<Secret>('RevealSecretSuccess').implement({
  description: 'The value of one secret. Don’t store it.',
  fields: (t) => ({ name: t.exposeString('name'), value: t.exposeString('value') }),
})

const set = verbInput('SetSecretsInput', changeSecretsInput, 'version')
const unset = verbInput('UnsetSecretsInput', unsetSecretsInput, 'version')
const reveal = verbInput('RevealSecretInput', revealSecretInput)

const CHANGE_ERRORS = { types: [NotFoundError, ConflictError, PreconditionFailedError] }

builder.mutationFields((t) => ({
  setSecrets: t.field({
    type: withOptionalRevision('SetSecretsSuccess'),
    description:
      'Sets secrets by name and removes those in `unset`, in one new revision without a build. All other secrets stay, including concurrent changes to them.',
    errors: CHANGE_ERRORS,
    args: { input: t.arg({ type: set.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => changeSecrets(ctx, set.raw(input), readBack(ctx, info)),
  }),
  unsetSecrets: t.field({
    type: withOptionalRevision('UnsetSecretsSuccess'),
    description: 'Removes secrets by name, in one new revision without a build. All other secrets stay.',
    errors: CHANGE_ERRORS,
    args: { input: t.arg({ type: unset.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => changeSecrets(ctx, unset.raw(input), readBack(ctx, info)),
  }),
  revealSecret: t.field({
    type: RevealSecretSuccess,
    description:
      'Returns the value of one secret to callers who may read values. Over a session this is the only way. Each call is logged as the event `secret.revealed`.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: reveal.type, required: true }) },
    resolve: (_root, { input }, ctx) => revealSecret(ctx, reveal.raw(input)),
  }),
}))

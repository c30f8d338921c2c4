/** The writes of secrets by their names, and the look at one value. */

import { changeSecrets, changeSecretsInput, unsetSecretsInput } from '../../../domain/deployments/change-secrets.ts'
import { revealSecret, revealSecretInput } from '../../../domain/deployments/reveal-secret.ts'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import type { Secret } from '../../../domain/values/shapes.ts'
import { builder } from '../builder/builder.ts'
import { verbInput } from '../builder/verb-input.ts'
import { perhapsWithRevision, readBack } from './written-deployment.ts'

const RevealSecretSuccess = builder.objectRef<Secret>('RevealSecretSuccess').implement({
  description: 'The value of one secret: keep it no longer than it is looked at.',
  fields: (t) => ({ name: t.exposeString('name'), value: t.exposeString('value') }),
})

const set = verbInput('SetSecretsInput', changeSecretsInput, 'version')
const unset = verbInput('UnsetSecretsInput', unsetSecretsInput, 'version')
const reveal = verbInput('RevealSecretInput', revealSecretInput)

const CHANGE_ERRORS = { types: [NotFoundError, ConflictError, PreconditionFailedError] }

builder.mutationFields((t) => ({
  setSecrets: t.field({
    type: perhapsWithRevision('SetSecretsSuccess'),
    description:
      'Sets secrets by their names, and with `unset` takes others away, together in one revision of what runs, without a build. All others stay, whoever changes them meanwhile.',
    errors: CHANGE_ERRORS,
    args: { input: t.arg({ type: set.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => changeSecrets(ctx, set.raw(input), readBack(ctx, info)),
  }),
  unsetSecrets: t.field({
    type: perhapsWithRevision('UnsetSecretsSuccess'),
    description: 'Takes secrets away by their names, in one revision of what runs, without a build. All others stay.',
    errors: CHANGE_ERRORS,
    args: { input: t.arg({ type: unset.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => changeSecrets(ctx, unset.raw(input), readBack(ctx, info)),
  }),
  revealSecret: t.field({
    type: RevealSecretSuccess,
    description:
      'The value of one secret, for who may read values: the only way to one over a session. Who has looked at which stands in the log, as `secret.revealed`.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: reveal.type, required: true }) },
    resolve: (_root, { input }, ctx) => revealSecret(ctx, reveal.raw(input)),
  }),
}))

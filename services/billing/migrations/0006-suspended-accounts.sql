-- An operator may stop an account from spending, whatever its keys and credit are.
ALTER TABLE account ADD COLUMN suspended boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN account.suspended IS 'Nothing more is held for it; what is held already is charged or freed as ever.';

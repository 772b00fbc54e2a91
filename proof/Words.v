(** Numbers as words of symbols, lowest place first.

    A symbol is a character. The number word of n on P places has n's decimal digits without leading zeros (0 is "0"),
    then pads "_"; if n has more than P digits, it has the lowest P of them. *)

From Coq Require Export ZArith NArith List Ascii Lia.
Export ListNotations.
Open Scope bool_scope.
Open Scope N_scope.

Ltac Zify.zify_post_hook ::= Z.to_euclidean_division_equations.

Definition pad : ascii := "_".
Definition digit (d : N) : ascii := ascii_of_N (48 + d).

Fixpoint word_from (lowest : bool) (P : nat) (n : N) : list ascii :=
  match P with
  | O => []
  | S P => (if negb lowest && (n =? 0) then pad else digit (n mod 10)) :: word_from false P (n / 10)
  end.

(** The number word of n on P places. *)
Definition word : nat -> N -> list ascii := word_from true.

(** The lowest P digits of n, with zeros leading: as numbers, and as symbols. *)
Fixpoint digits (P : nat) (n : N) : list N :=
  match P with
  | O => []
  | S P => n mod 10 :: digits P (n / 10)
  end.

Definition zeros (P : nat) (n : N) : list ascii := map digit (digits P n).

(** What a symbol counts, and a word. *)
Definition count (c : ascii) : N := if Ascii.eqb c pad then 0 else N_of_ascii c - 48.

Fixpoint value (w : list ascii) : N :=
  match w with
  | [] => 0
  | c :: w => count c + 10 * value w
  end.

(** * The definitions mean what they should *)

Definition ten : list N := [0; 1; 2; 3; 4; 5; 6; 7; 8; 9].

Lemma below_ten d : d < 10 -> In d ten.
Proof.
  intros H. unfold ten. simpl.
  assert (d = 0 \/ d = 1 \/ d = 2 \/ d = 3 \/ d = 4 \/ d = 5 \/ d = 6 \/ d = 7 \/ d = 8 \/ d = 9) by lia.
  intuition.
Qed.

(** A fact about every digit, by looking at each. *)
Lemma each_digit (f : N -> bool) : forallb f ten = true -> forall d, d < 10 -> f d = true.
Proof. intros H d Hd. rewrite forallb_forall in H. auto using below_ten. Qed.

Lemma count_digit d : d < 10 -> count (digit d) = d.
Proof. intros H. apply N.eqb_eq. revert d H. apply each_digit. reflexivity. Qed.

Lemma digit_not_pad d : d < 10 -> Ascii.eqb (digit d) pad = false.
Proof.
  intros H. apply Bool.negb_true_iff. revert d H. apply (each_digit (fun d => negb (Ascii.eqb (digit d) pad))).
  reflexivity.
Qed.

Lemma digit_not_zero d : d < 10 -> d <> 0 -> Ascii.eqb (digit d) (digit 0) = false.
Proof.
  intros L Z. pose proof (each_digit (fun d => (d =? 0) || negb (Ascii.eqb (digit d) (digit 0))) eq_refl d L) as B.
  cbv beta in B. apply N.eqb_neq in Z. rewrite Z in B. now apply Bool.negb_true_iff in B.
Qed.

Lemma mod_ten n : n mod 10 < 10.
Proof. lia. Qed.

Global Hint Resolve mod_ten : core.

Lemma pow_succ (P : nat) : 10 ^ N.of_nat (S P) = 10 * 10 ^ N.of_nat P.
Proof. rewrite Nat2N.inj_succ. apply N.pow_succ_r'. Qed.

Lemma value_word_from P : forall lowest n, n < 10 ^ N.of_nat P -> value (word_from lowest P n) = n.
Proof.
  induction P as [|P IH]; intros lowest n H.
  - simpl in H. cbn. lia.
  - rewrite pow_succ in H. cbn [word_from value]. rewrite IH by lia.
    destruct (N.eqb_spec n 0) as [->|]; destruct lowest; cbn [negb andb]; try rewrite count_digit by auto;
      try reflexivity; lia.
Qed.

(** The word of n has the value n wherever n has at most P digits. *)
Theorem value_word P n : n < 10 ^ N.of_nat P -> value (word P n) = n.
Proof. apply value_word_from. Qed.

Theorem value_zeros P : forall n, n < 10 ^ N.of_nat P -> value (zeros P n) = n.
Proof.
  induction P as [|P IH]; intros n H.
  - simpl in H. cbn. lia.
  - rewrite pow_succ in H. unfold zeros in *. cbn [digits map value]. rewrite IH, count_digit by (auto; lia). lia.
Qed.

Theorem length_word P : forall lowest n, length (word_from lowest P n) = P.
Proof. induction P; intros; cbn; auto. Qed.

Theorem length_zeros P : forall n, length (zeros P n) = P.
Proof. intros n. unfold zeros. rewrite map_length. revert n. induction P; intros; cbn; auto. Qed.

(** The word of a list of digits, lowest first: its digits and then pads, if it has no leading zero. *)
Fixpoint number (ds : list N) : N :=
  match ds with
  | [] => 0
  | d :: ds => d + 10 * number ds
  end.

Definition are_digits (ds : list N) : Prop := Forall (fun d => d < 10) ds.

(** At least one digit, and the highest is not 0 unless it is the only one. *)
Definition no_leading_zero (ds : list N) : Prop := ds = [0] \/ (ds <> [] /\ last ds 0 <> 0).

Lemma highest_not_zero ds : ds <> [] -> last ds 0 <> 0 -> number ds <> 0.
Proof.
  induction ds as [|d ds IH]; [easy|]. intros _ H. destruct ds as [|e ds]; cbn [number]; [cbn in H; lia|].
  assert (number (e :: ds) <> 0) by (apply IH; [easy|exact H]). cbn [number] in *. lia.
Qed.

Lemma word_from_zero P : word_from false P 0 = repeat pad P.
Proof. induction P; cbn; [easy|]. now rewrite IHP. Qed.

Lemma word_of_digits_from ds :
  are_digits ds -> forall lowest, (ds = [] /\ lowest = false) \/ (ds <> [] /\ last ds 0 <> 0) ->
  forall P, word_from lowest (length ds + P) (number ds) = map digit ds ++ repeat pad P.
Proof.
  induction 1 as [|d ds Hd Hds IH]; intros lowest H P.
  - destruct H as [[_ ->]|[]]; [apply word_from_zero|easy].
  - destruct H as [[]|[_ H]]; [easy|]. cbn [length Nat.add word_from map app].
    assert (number (d :: ds) <> 0) as N0 by (apply highest_not_zero; easy).
    apply N.eqb_neq in N0. rewrite N0, Bool.andb_false_r. cbn [number].
    replace ((d + 10 * number ds) mod 10) with d by lia. f_equal.
    replace ((d + 10 * number ds) / 10) with (number ds) by lia.
    apply IH. destruct ds; [left|right]; easy.
Qed.

Theorem word_of_digits ds P :
  are_digits ds -> no_leading_zero ds -> word (length ds + P) (number ds) = map digit ds ++ repeat pad P.
Proof.
  intros H [->|Z].
  - cbn. f_equal. apply word_from_zero.
  - apply word_of_digits_from; auto.
Qed.

(** Every number is that of such a list: so a theorem over all n is one over all lists of digits, and the reverse. *)
Theorem digits_of_number n : exists ds, are_digits ds /\ no_leading_zero ds /\ number ds = n.
Proof.
  destruct (N.eq_dec n 0) as [->|NZ].
  { exists [0]. repeat split; [repeat constructor|now left]. }
  assert (forall m, m <= n -> m <> 0 -> exists ds, are_digits ds /\ (ds <> [] /\ last ds 0 <> 0) /\ number ds = m) as A.
  { induction n as [|n IH] using N.peano_ind; [lia|]. intros m Hm Z.
    destruct (N.lt_ge_cases m 10) as [L|G].
    - exists [m]. split; [repeat constructor; lia|]. split; [easy|cbn [number]; lia].
    - destruct (N.eq_dec n 0) as [->|]; [lia|].
      destruct (IH ltac:(lia) (m / 10) ltac:(lia) ltac:(lia)) as (ds & D & (NE & Hi) & V).
      exists (m mod 10 :: ds). split; [constructor; auto|]. split; [|cbn [number]; lia].
      split; [easy|destruct ds; easy]. }
  destruct (A n ltac:(lia) NZ) as (ds & D & Z & V). exists ds. repeat split; auto. now right.
Qed.

(** A list of k digits is below 10^k, and not below 10^(k - 1) if it has no leading zero. *)
Lemma number_below ds : are_digits ds -> number ds < 10 ^ N.of_nat (length ds).
Proof.
  induction 1 as [|d ds Hd _ IH]; [cbn; lia|]. cbn [number length]. rewrite pow_succ. lia.
Qed.

Lemma number_reaches ds : ds <> [] -> last ds 0 <> 0 -> 10 ^ N.of_nat (length ds) <= 10 * number ds.
Proof.
  induction ds as [|d ds IH]; [easy|]. intros _ H. cbn [length number]. rewrite pow_succ.
  destruct ds as [|e ds]; [cbn in H; change (length (A := N) []) with O; change (10 ^ N.of_nat 0) with 1; cbn [number]; lia|]. specialize (IH ltac:(easy) H). lia.
Qed.

Lemma fits_length ds P : are_digits ds -> no_leading_zero ds -> (0 < P)%nat ->
  number ds < 10 ^ N.of_nat P -> (length ds <= P)%nat.
Proof.
  intros D [->|[NE Hi]] HP L; [cbn; lia|].
  pose proof (number_reaches ds NE Hi) as R.
  destruct (Nat.le_gt_cases (length ds) P) as [|G]; [assumption|exfalso].
  assert (10 * 10 ^ N.of_nat P <= 10 ^ N.of_nat (length ds)).
  { rewrite <- pow_succ. apply N.pow_le_mono_r; lia. }
  lia.
Qed.

(** The digits of a number of k digits. *)
Theorem number_digits k : forall n, n < 10 ^ N.of_nat k -> number (digits k n) = n.
Proof.
  induction k as [|k IH]; intros n H; [cbn in *; lia|]. rewrite pow_succ in H. cbn [digits number].
  rewrite IH; lia.
Qed.

Lemma digits_are_digits k : forall n, are_digits (digits k n).
Proof. induction k; intros; constructor; auto. apply IHk. Qed.

(** On as many places as a number has digits, its word has no pads. *)
Theorem word_without_pads k : forall n, 10 ^ N.of_nat k <= n -> word (S k) n = zeros (S k) n.
Proof.
  assert (forall low n, 10 ^ N.of_nat k <= n -> word_from low (S k) n = zeros (S k) n) as A; [|intros; now apply A].
  induction k as [|k IH]; intros low n H.
  - cbn in H. unfold zeros. cbn [digits map word_from]. destruct (N.eqb_spec n 0); [lia|].
    now rewrite Bool.andb_false_r.
  - rewrite pow_succ in H. change (word_from low (S (S k)) n) with
      ((if negb low && (n =? 0) then pad else digit (n mod 10)) :: word_from false (S k) (n / 10)).
    rewrite IH by lia. unfold zeros. change (digits (S (S k)) n) with (n mod 10 :: digits (S k) (n / 10)). cbn [map].
    destruct (N.eqb_spec n 0); [lia|]. now rewrite Bool.andb_false_r.
Qed.

(** Words place by place: at place q stands a symbol of n / 10^q. *)
Definition symbol_at (low : bool) (n : N) : ascii := if negb low && (n =? 0) then pad else digit (n mod 10).

Definition shifted (n : N) (q : nat) : N := n / 10 ^ N.of_nat q.

Lemma shifted_zero n : shifted n 0 = n.
Proof. apply N.div_1_r. Qed.

Lemma shifted_succ n q : shifted n (S q) = shifted (n / 10) q.
Proof. unfold shifted. rewrite pow_succ, N.div_div; [reflexivity|easy|apply N.pow_nonzero; easy]. Qed.

Lemma shifted_down n q : shifted n (S q) = shifted n q / 10.
Proof. unfold shifted. rewrite pow_succ, N.mul_comm, N.div_div; [reflexivity|apply N.pow_nonzero; easy|easy]. Qed.

Definition lowest (q : nat) : bool := Nat.eqb q 0.

Lemma word_from_places P : forall low n,
  word_from low P n = map (fun q => symbol_at (low && lowest q) (shifted n q)) (seq 0 P).
Proof.
  induction P as [|P IH]; intros low n; [reflexivity|].
  cbn [word_from seq map]. rewrite shifted_zero, Bool.andb_true_r. f_equal.
  rewrite IH, <- seq_shift, map_map. apply map_ext. intros q. rewrite shifted_succ. cbn [lowest Nat.eqb].
  now rewrite Bool.andb_false_r.
Qed.

Lemma word_places P n : word P n = map (fun q => symbol_at (lowest q) (shifted n q)) (seq 0 P).
Proof. apply word_from_places. Qed.

Lemma zeros_places P : forall n, zeros P n = map (fun q => digit (shifted n q mod 10)) (seq 0 P).
Proof.
  unfold zeros. induction P as [|P IH]; intros n; [reflexivity|].
  cbn [digits seq map]. rewrite shifted_zero. f_equal.
  rewrite IH, <- seq_shift, map_map. apply map_ext. intros q. now rewrite shifted_succ.
Qed.

(** The places from the highest down. *)
Definition down (P : nat) : list nat := rev (seq 0 P).

Lemma down_succ P : down (S P) = P :: down P.
Proof. unfold down. now rewrite seq_S, rev_app_distr. Qed.

Lemma combine_maps {A B C} (f : A -> B) (g : A -> C) l : combine (map f l) (map g l) = map (fun x => (f x, g x)) l.
Proof. induction l; cbn; congruence. Qed.

(** * Phases

    A number word is read place by place, and its rest n shrinks to n / 10. The phase of a reader is what follows for
    the rest from the symbols read so far: nothing at the lowest place; not 0 after a zero above the lowest place, since
    such a zero is not the highest digit; nothing after other digits; 0 after a pad. *)

Inductive phase := First | Zero | Open | Over.

Definition is_first (f : phase) : bool := match f with First => true | _ => false end.

Definition holds (f : phase) (n : N) : Prop :=
  match f with
  | First | Open => True
  | Zero => n <> 0
  | Over => n = 0
  end.

Definition symbols : list ascii := pad :: map digit ten.

(** The phase after a symbol, if the symbol can stand here. *)
Definition after (f : phase) (c : ascii) : option phase :=
  if in_dec ascii_dec c symbols then
    match f, Ascii.eqb c pad with
    | First, true | Zero, true | Over, false => None
    | Over, true | Open, true => Some Over
    | First, false => Some Open
    | Zero, false | Open, false => Some (if Ascii.eqb c (digit 0) then Zero else Open)
    end
  else None.

Definition top (f : phase) (n : N) : ascii := if negb (is_first f) && (n =? 0) then pad else digit (n mod 10).

Lemma digit_is_symbol d : d < 10 -> In (digit d) symbols.
Proof. intros H. right. apply in_map, below_ten, H. Qed.

Lemma after_top f n : holds f n -> exists f', after f (top f n) = Some f' /\ holds f' (n / 10) /\ is_first f' = false.
Proof.
  intros H. unfold after, top.
  destruct (in_dec ascii_dec _ symbols) as [_|NI].
  2: { exfalso. apply NI. destruct (negb _ && _); [now left|auto using digit_is_symbol]. }
  destruct (N.eqb_spec n 0) as [->|Z]; destruct f; cbn [is_first negb andb]; cbn in H; try easy;
    try (rewrite (digit_not_pad (n mod 10)) by auto);
    try (eexists; repeat split; fail).
  all: destruct (N.eq_dec (n mod 10) 0) as [E|D];
    [rewrite E; exists Zero; repeat split; cbn; lia | rewrite digit_not_zero by auto; exists Open; repeat split].
Qed.

Lemma after_is_symbol f c f' : after f c = Some f' -> In c symbols.
Proof. unfold after. now destruct (in_dec ascii_dec c symbols). Qed.

Lemma count_top f n : holds f n -> count (top f n) = n mod 10.
Proof.
  unfold top. intros H. destruct (N.eqb_spec n 0) as [->|]; destruct (negb _); cbn [andb]; now rewrite ?count_digit.
Qed.

Lemma top_is_pad f n : Ascii.eqb (top f n) pad = (negb (is_first f) && (n =? 0)).
Proof. unfold top. destruct (_ && _); [reflexivity|]. now apply digit_not_pad. Qed.

(** A number for each phase, for the keys of states. *)
Definition phase_key (f : phase) : N := match f with First => 0 | Zero => 1 | Open => 2 | Over => 3 end.

(** The phase of the reader of n at place q. *)
Fixpoint phase_at (n : N) (q : nat) : phase :=
  match q with
  | O => First
  | S q => match after (phase_at n q) (symbol_at (lowest q) (shifted n q)) with Some f => f | None => Over end
  end.

Lemma phase_at_right n q : holds (phase_at n q) (shifted n q) /\ is_first (phase_at n q) = lowest q
  /\ after (phase_at n q) (symbol_at (lowest q) (shifted n q)) = Some (phase_at n (S q)).
Proof.
  induction q as [|q (H & F & A)].
  - destruct (after_top First (shifted n 0) I) as (f & A & H & F). unfold top in A.
    repeat split. cbn [phase_at lowest Nat.eqb]. unfold symbol_at. cbn in A |- *. now rewrite A.
  - destruct (after_top _ _ H) as (f & A' & H' & F'). unfold top in A'. rewrite F in A'.
    fold (symbol_at (lowest q) (shifted n q)) in A'. assert (phase_at n (S q) = f) as E by congruence.
    rewrite E, shifted_down. split; [exact H'|]. split; [exact F'|].
    destruct (after_top _ _ H') as (f2 & A2 & _ & _). unfold top in A2. rewrite F' in A2.
    fold (symbol_at (lowest (S q)) (shifted n q / 10)) in A2.
    change (phase_at n (S (S q))) with
      (match after (phase_at n (S q)) (symbol_at (lowest (S q)) (shifted n (S q))) with Some f => f | None => Over end).
    rewrite E, shifted_down. change (lowest (S q)) with false in *. unfold symbol_at in *. now rewrite A2.
Qed.

Lemma after_phase_at n q : after (phase_at n q) (symbol_at (lowest q) (shifted n q)) = Some (phase_at n (S q)).
Proof. apply phase_at_right. Qed.

Lemma count_symbol_at low n : count (symbol_at low n) = n mod 10.
Proof.
  unfold symbol_at. destruct (N.eqb_spec n 0) as [->|]; destruct low; cbn [negb andb]; now rewrite ?count_digit.
Qed.

Lemma flat_map_nil {A B} (f : A -> list B) l : flat_map f l = [] -> forall x, In x l -> f x = [].
Proof.
  induction l as [|y l IH]; [easy|]. cbn. intros H x [<-|I]; apply app_eq_nil in H as [H1 H2]; auto.
Qed.
